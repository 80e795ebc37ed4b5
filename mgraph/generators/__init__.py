"""Random graph generators: ``copy_model`` has the parameters, and each method has one stem."""
