"""The Furuta pendulum."""
