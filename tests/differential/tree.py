"""Statements as trees: rendered to SQL, and made smaller piece by piece.

A node renders its parts one after the other. A part is text, a node, or a list of nodes that may be left out one by one
(`Several`). Two nodes of one kind can stand in each other's place: that is how a tree shrinks.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Several:
    """Nodes between separators; nothing at all, prefix included, when there are none."""

    items: tuple
    prefix: str = ""
    separator: str = ", "
    suffix: str = ""
    least: int = 0

    def sql(self):
        if not self.items:
            return ""
        return self.prefix + self.separator.join(item.sql() for item in self.items) + self.suffix


@dataclass(frozen=True)
class Node:
    """Some SQL of a kind: `query`, `from`, `item`, or the type of a value (`int`, `text`, `truth` ...)."""

    kind: str
    parts: tuple
    simplest: str = field(default="", compare=False)

    def sql(self):
        return "".join(part if isinstance(part, str) else part.sql() for part in self.parts)


def node(kind, *parts, simplest=""):
    return Node(kind, tuple(parts), simplest)


def smaller(tree):
    """Trees that are one step smaller, the boldest steps first."""
    # The whole by one of its parts.
    for inner in below(tree):
        if inner.kind == tree.kind:
            yield inner
    if tree.simplest and tree.sql() != tree.simplest:
        yield Node(tree.kind, (tree.simplest,))
    for place, part in enumerate(tree.parts):
        for changed in smaller_part(part):
            yield Node(tree.kind, tree.parts[:place] + (changed,) + tree.parts[place + 1:], tree.simplest)


def smaller_part(part):
    if isinstance(part, Node):
        yield from smaller(part)
    elif isinstance(part, Several):
        for place in range(len(part.items)):
            rest = part.items[:place] + part.items[place + 1:]
            if len(rest) >= part.least:
                yield Several(rest, part.prefix, part.separator, part.suffix, part.least)
        for place, item in enumerate(part.items):
            for changed in smaller(item):
                items = part.items[:place] + (changed,) + part.items[place + 1:]
                yield Several(items, part.prefix, part.separator, part.suffix, part.least)


def below(tree):
    """All nodes inside of a tree, outermost first."""
    waiting = list(tree.parts)
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, Node):
            yield part
            waiting.extend(part.parts)
        elif isinstance(part, Several):
            waiting.extend(part.items)
