"""The machines that come with the package: plant, task and drawing of each side by side."""
