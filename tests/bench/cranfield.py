"""Cranfield: 1,400 abstracts, 225 questions, and which abstracts answer them.

Cleverdon, "The Cranfield tests on index language devices" (1967). A folder holds the three files of
https://github.com/oussbenk/cranfield-trec-dataset: cran.all.1400.xml, cran.qry.xml, cranqrel.trec.txt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path


def cranfield(folder: Path) -> tuple[dict[str, str], list[tuple[str, set[str]]]]:
    """The texts by name, and the questions with the names of the texts that are relevant."""
    found = (folder / "cran.all.1400.xml").read_text()
    texts = {
        re.search(r"<docno>(.*?)</docno>", each)[1].strip(): re.search(r"<text>(.*?)</text>", each, re.DOTALL)[1].strip()  # type: ignore[index]
        for each in re.findall(r"<doc>(.*?)</doc>", found, re.DOTALL)
    }
    asked = re.findall(r"<top>.*?<title>(.*?)</title>", (folder / "cran.qry.xml").read_text(), re.DOTALL)
    relevant: dict[int, set[str]] = defaultdict(set)
    for line in (folder / "cranqrel.trec.txt").read_text().splitlines():
        number, _, name, grade = line.split()
        if int(grade) > 0 and texts.get(name):
            relevant[int(number)].add(name)
    # the judgements number the questions by their place, not by their own numbers
    queries = [(text.strip(), relevant[place]) for place, text in enumerate(asked, 1) if relevant[place]]
    return {name: text for name, text in texts.items() if text}, queries
