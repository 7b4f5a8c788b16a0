"""How chips are wired: graphs, average hops, bisection, links, and the load that traffic puts."""
