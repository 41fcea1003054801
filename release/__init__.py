"""What is released: built twice with the same result, looked into, installed in a new environment and tried there."""
