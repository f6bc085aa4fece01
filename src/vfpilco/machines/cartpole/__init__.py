"""The cart-pole."""
