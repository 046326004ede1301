"""The commands of the command line, a module a group: each has ``add_to(commands, parents)``."""
