"""What can be said of any thing, and the connecting words. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import phrases, tone

GENERAL = {
    "positive": tone(
        states="""a joy; a delight; superb; first-rate; outstanding; wonderful; a real treat; spot on; impossible to fault; the
        highlight; well above our expectations; better than we dared hope""",
        deeds="""won us over; stole the show; exceeded our hopes; put a smile on every face; restored my faith in humanity; made the
        trip worthwhile; earned our applause""",
        scenes="""we [loved] @; we [were charmed by] @; we [could not fault] @; ~I [have nothing but praise for] @; everyone [raved
        about] @; we [adored] @; we [were bowled over by] @; we [were delighted with] @; ![full marks for] @; ![three cheers for] @;
        ![do not miss] @; ~I [would go back just for] @; we [had no complaints at all about] @; ![hats off to whoever is behind] @""",
    ),
    "negative": tone(
        states="""a disappointment; dreadful; poor; a disgrace; a let-down; well below par; the low point; not worth the fuss; nothing
        like the photos; third-rate; a shambles; enough to make us leave""",
        deeds="""left us cold; let the place down; spoiled the mood; tested our patience; put a damper on things; missed the mark by a
        mile; made us wish we had stayed at home""",
        scenes="""we [were let down by] @; we [hated] @; ~I [cannot forgive] @; we [were appalled by] @; everyone [moaned about] @; we
        [were unimpressed by] @; we [complained about] @; ![steer clear of] @; ![do not get me started on] @; ![shame about] @; ~I
        [would not wish on anyone] @; we [had nothing but complaints about] @; ![a plague on whoever is behind] @""",
    ),
    "neutral": tone(
        adjectives="""ordinary; average; standard; unremarkable; middling; conventional; typical; run-of-the-mill""",
        states="""neither good nor bad; much as expected; exactly as described; about average; no different from anywhere else; what
        you would expect; neither here nor there; in line with the brochure; as in the photos; nothing out of the ordinary; all right, nothing more""",
        deeds="""met the usual standard; did the job; left no impression either way; matched the description""",
        scenes="""~we [have no strong feelings about] @; I [took note of] @; someone in our party [mentioned] @; our group [was evenly
        divided over] @; ~I [have no opinion on] @; ~we [have seen better and worse than] @""",
    ),
}

DEGREES = {
    "positive": phrases(
        """really %; truly %; wonderfully %; surprisingly %; every bit as % as promised; as % as you could wish for; thoroughly %"""
    ),
    "negative": phrases(
        """rather %; painfully %; distinctly %; depressingly %; downright %; frankly %; hopelessly %"""
    ),
    "neutral": phrases("fairly %; entirely %; quite %"),
}

NEGATED = {
    "positive": phrases(
        "not in the least %; never %; anything but %; not remotely %; at no point %"
    ),
    "negative": phrases(
        """not exactly %; far from %; anything but %; hardly %; less % than promised; not nearly as % as we had hoped"""
    ),
}

COPULAS = phrases(
    "<was|were>; <was|were>; <was|were>; <was|were>; <was|were>; <was|were>; turned out to be; proved to be; struck us as"
)

OPENERS = phrases(
    """all in all,; to be fair,; overall,; in short:; a quick summary:; our verdict:; for what it is worth,; one thing is
    certain:; note to self:; a word to the wise:"""
)

VERDICTS = phrases(
    """that sums it up; such is this place; that is the place in a nutshell; take your pick; a place of two halves; make of that
    what you will; that was us; we have been to worse and to better"""
)
