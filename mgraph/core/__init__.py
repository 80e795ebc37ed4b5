"""What every other package stands on: arrays, validation, hashing, the choice of a backend."""
