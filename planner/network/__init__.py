"""Networks: what a collective costs on a group of chips placed on a hierarchy of levels."""
