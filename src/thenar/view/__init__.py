"""The page: what a running twin does, in a browser. It lives in a process of its own and knows no physics."""
