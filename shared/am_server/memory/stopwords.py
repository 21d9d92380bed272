"""English function words: they carry grammar, not what a text is about.

Every question word, pronoun, article, auxiliary and contraction is here. `may` is not (a month), nor are numbers.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a an the this that these those such same other another each every either neither both all any some no not nor
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones
    who whom whose which what when where why how whoever whatever whichever whenever wherever
    am is are was were be been being do does did doing done have has had having will would shall should can could might
    must ought
    and but or if because as until while of at by for with about against between into through during before after above
    below to from up down in out on off over under again further then once here there than so too very just also only
    own more most few much many upon per via
    s t d ll ve re m o y
    don't doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't won't wouldn't can't cannot couldn't shouldn't
    mustn't mightn't shan't needn't ain't let's
    dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wouldnt couldnt shouldnt
    """.split()
)
