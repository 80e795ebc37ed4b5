"""cluster/kubernetes against the operator's own schemas and builders, and Kubernetes' own types.

No cluster is at hand: this is as far as tools can check the files.
"""

import importlib.util
import pathlib
import re

import pytest
import yaml

RECIPE = pathlib.Path(__file__).parents[2] / "cluster" / "kubernetes"
FILES = sorted(path.name for path in RECIPE.glob("*.yaml"))
CLUSTERS = ["cluster.yaml", "cluster-gpu.yaml"]


def manifest(name):
    return yaml.safe_load((RECIPE / name).read_text())


def cluster_of(name):
    """Name and specification of the cluster that a DaskCluster or a DaskJob makes."""
    found = manifest(name)
    spec = found["spec"]
    return found["metadata"]["name"], spec["cluster"]["spec"] if name == "job.yaml" else spec


def pods():
    """All pod specifications, with where they stand."""
    for name in [*CLUSTERS, "job.yaml"]:
        _, spec = cluster_of(name)
        yield f"{name} scheduler", spec["scheduler"]["spec"]
        yield f"{name} worker", spec["worker"]["spec"]
    yield "job.yaml runner", manifest("job.yaml")["spec"]["job"]["spec"]


def containers():
    for where, pod in pods():
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            yield f"{where} {container['name']}", pod, container


PODS, CONTAINERS = dict(pods()), {where: rest for where, *rest in containers()}


@pytest.mark.parametrize("name", [*CLUSTERS, "job.yaml"])
def test_objects_fit_the_operator_s_schema(name):
    """The operator's definitions; those of pods and services, which it takes from Kubernetes'
    repository, are checked below."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    package = importlib.util.find_spec("dask_kubernetes")
    if package is None:
        pytest.skip("needs dask-kubernetes")
    folder = pathlib.Path(package.origin).parent / "operator" / "customresources"
    found = manifest(name)
    definition = yaml.safe_load((folder / f"{found['kind'].lower()}.yaml").read_text())
    templates = yaml.safe_load((folder / "templates.yaml").read_text())["definitions"]

    def resolved(node):
        if isinstance(node, list):
            return [resolved(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return resolved(templates.get(node["$ref"].rpartition("/")[2], {"type": "object"}))
        return {key: resolved(value) for key, value in node.items()}

    (version,) = definition["spec"]["versions"]
    assert found["apiVersion"] == f"{definition['spec']['group']}/{version['name']}"
    schema = resolved(version["schema"]["openAPIV3Schema"])
    jsonschema.validate(found, schema)
    del found["spec"]["job" if name == "job.yaml" else "worker"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


def fits(value, kind, client, where):
    """Check a value against a type of Kubernetes' Python client: names, kinds, what is required."""
    if item := re.fullmatch(r"[Ll]ist\[(.+)\]", kind):
        assert isinstance(value, list), where
        for index, element in enumerate(value):
            fits(element, item[1], client, f"{where}[{index}]")
    elif item := re.fullmatch(r"[Dd]ict[\[(]str, (.+)[\])]", kind):
        assert isinstance(value, dict), where
        for key, element in value.items():
            fits(element, item[1], client, f"{where}.{key}")
    elif hasattr(client, kind):
        model = getattr(client, kind)
        assert isinstance(value, dict), where
        unknown = set(value) - set(model.attribute_map.values())
        assert not unknown, f"{where}: {kind} has no {unknown}"
        given = {}
        for attribute, name in model.attribute_map.items():
            if name in value:
                fits(value[name], model.openapi_types[attribute], client, f"{where}.{name}")
                given[attribute] = value[name]
        model(**given)  # raises ValueError where something required is missing
    elif kind != "object":
        types = {"str": str, "int": int, "bool": bool, "float": float, "datetime": str}
        assert type(value) is types[kind], f"{where}: {value!r} is no {kind}"


@pytest.fixture(scope="module")
def client():
    return pytest.importorskip("kubernetes.client", reason="needs kubernetes (dask-kubernetes)")


@pytest.mark.parametrize("where", PODS)
def test_pods_fit_kubernetes_types(where, client):
    fits(PODS[where], "V1PodSpec", client, where)
    wrong = PODS[where] | {"containers": [PODS[where]["containers"][0] | {"arg": []}]}
    with pytest.raises(AssertionError, match="V1Container has no"):
        fits(wrong, "V1PodSpec", client, where)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("data.yaml", "V1PersistentVolumeClaim"), ("network-policy.yaml", "V1NetworkPolicy")],
)
def test_other_objects_fit_kubernetes_types(name, kind, client):
    fits(manifest(name), kind, client, name)


@pytest.mark.parametrize("name", [*CLUSTERS, "job.yaml"])
def test_the_operator_s_builders_accept_the_objects(name, client):
    """The operator's own functions build the objects; they fit, and they find each other."""
    pytest.importorskip("kr8s", reason="needs dask-kubernetes with what it needs")
    from dask_kubernetes.operator.controller import controller

    cluster, spec = cluster_of(name)
    labels, where = manifest(name)["metadata"]["labels"], {"annotations": {}}
    scheduler = controller.build_scheduler_deployment_spec(
        cluster, spec["scheduler"]["spec"], labels=labels, **where
    )
    service = controller.build_scheduler_service_spec(
        cluster, spec["scheduler"]["service"], labels=labels, **where
    )
    group = controller.build_default_worker_group_spec(
        cluster, spec["worker"], labels=labels, **where
    )
    worker = controller.build_worker_deployment_spec(
        group["metadata"]["name"], "here", cluster, "0", group["spec"]["worker"]["spec"],
        labels=group["metadata"]["labels"], **where,
    )  # fmt: skip
    fits(service, "V1Service", client, "service")
    made = [scheduler["spec"]["template"], worker["spec"]["template"]]
    for deployment in (scheduler, worker):
        fits(deployment, "V1Deployment", client, deployment["metadata"]["name"])
    if name == "job.yaml":
        runner = controller.build_job_pod_spec(
            cluster, cluster, "here", manifest(name)["spec"]["job"]["spec"], labels=labels, **where
        )
        fits(runner, "V1Pod", client, "runner")
        assert runner["metadata"]["name"] == "mgraph-job-runner"  # as README.md says
        made.append(runner)

    selected = service["spec"]["selector"].items()
    assert selected <= scheduler["spec"]["template"]["metadata"]["labels"].items()
    allowed = manifest("network-policy.yaml")["spec"]["podSelector"]["matchLabels"].items()
    for pod in made:
        assert allowed <= pod["metadata"]["labels"].items()
        for container in pod["spec"]["containers"]:
            addresses = [
                variable["value"]
                for variable in container["env"]
                if variable["name"] == "DASK_SCHEDULER_ADDRESS"
            ]
            assert addresses == [f"tls://{service['metadata']['name']}:8786"]


@pytest.mark.parametrize("where", CONTAINERS)
def test_containers_are_confined_and_have_their_files(where):
    pod, container = CONTAINERS[where]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }
    ports = {port["name"] for port in container.get("ports", [])}
    probes = (container[kind] for kind in container if kind.endswith("Probe"))
    assert {probe["httpGet"]["port"] for probe in probes} <= ports


def test_gpus_are_requested_where_they_are_used():
    with_gpu = {where for where, (_, found) in CONTAINERS.items() if "cuda" in found["args"]}
    asked = {
        where
        for where, (_, found) in CONTAINERS.items()
        if "nvidia.com/gpu" in found["resources"]["limits"]
    }
    assert with_gpu == asked == {"cluster-gpu.yaml worker worker"}


def test_the_job_waits_for_all_its_workers():
    _, spec = cluster_of("job.yaml")
    arguments = spec["worker"]["spec"]["containers"][0]["args"]
    each = int(arguments[arguments.index("--nworkers") + 1])
    wait = manifest("job.yaml")["spec"]["job"]["spec"]["initContainers"][0]["args"][-1]
    assert f"wait_for_workers({each * spec['worker']['replicas']}," in wait
