"""How fast hyperspan is on the machine at hand, as shares of what that machine can do; ``hyperspan benchmark`` runs them."""
