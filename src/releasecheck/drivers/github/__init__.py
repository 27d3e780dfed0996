"""GitHub as a driver: what a job of GitHub Actions is told, its REST interface, artifacts and commands."""
