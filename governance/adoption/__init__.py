"""From what runs to what would be declared: pure functions on the objects of a cluster, as its API answers them."""
