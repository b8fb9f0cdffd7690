"""The policy pack: what resources must and must not be, judged from their properties alone."""
