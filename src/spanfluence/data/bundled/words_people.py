"""Who serves and what it costs: people, service, music, prices. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

SERVERS = aspects(
    "servers",
    "waiter; waitress; hostess; sommelier; bartender",
    "restaurant",
    determiners="the; the; our",
    person=True,
    good=tone(
        adjectives="friendly; attentive; charming; kind; patient; witty",
        states="a ray of sunshine; sharp, funny and quick; an angel in an apron",
        deeds="""could not have been kinder; remembered my allergy without being told twice; had us
        in stitches""",
        scenes="we [left a big tip for] @; we [wanted to adopt] @",
    ),
    bad=tone(
        adjectives="curt; rude; surly; inattentive; clumsy; sullen",
        states="too busy texting to care; as warm as a tax form; full of excuses",
        deeds="spilled gravy down my sleeve; forgot our order twice; sighed at every question",
        scenes="we [were snubbed by] @; we [waved in vain at] @",
    ),
    plain=tone(
        states="dressed in black; new to the job; from Lisbon",
        deeds="wore a bow tie; took our order; wrote everything down; asked for our surname",
        scenes="we [ordered from] @; we [spoke to] @; we [were seated by] @",
        leads="while @ [took our order]; when @ [came over]",
    ),
)

HOSTS = aspects(
    "hosts",
    "receptionist; porter; concierge; night porter; housekeepers +; staff +",
    "hotel",
    person=True,
    good=tone(
        adjectives="friendly; helpful; obliging; kind; patient; cheerful",
        states="a treasure; worth any tip; the soul of kindness",
        deeds="could not have been nicer; found my lost passport; upgraded us with a wink",
        scenes="we [wrote a thank-you note to] @; we [were spoiled by] @",
    ),
    bad=tone(
        adjectives="rude; unhelpful; grumpy; surly; dismissive; careless",
        states="glued to a phone; about as useful as a chocolate teapot; fast asleep at the desk",
        deeds="lost our booking; shrugged at every problem; lost my suitcase",
        scenes="we [were patronised by] @; we [got nowhere with] @",
    ),
    plain=tone(
        states="in a green uniform; on duty until ten; from Norway",
        deeds="asked for our passports; handed us a map; noted our car number; wore a name badge",
        scenes="we [spoke to] @; we [gave our keys to] @; we [were met by] @",
        leads="while @ [made a phone call]; when @ [went to fetch the keys]",
    ),
)

SERVICE = aspects(
    "service",
    "service ~; room service ~; check-in ~",
    "hotel",
    good=tone(
        adjectives="prompt; efficient; friendly; smooth; attentive; flawless",
        states="quick and kind; second to none; a well-oiled machine",
        deeds="took two cheerful minutes; ran like clockwork; went without a hitch",
        scenes="we [were impressed with] @; I [must praise] @",
    ),
    bad=tone(
        adjectives="slow; sloppy; chaotic; careless; unfriendly; inept",
        states="slower than a wet week; an ordeal; a farce in three acts",
        deeds="took an hour and a half; got everything wrong; left us standing in the rain",
        scenes="we [fumed over] @; I [gave up on] @",
    ),
    plain=tone(
        states="offered from three; handled by an agency; available by phone",
        deeds="took place in the annexe; required a signature; involved two forms; ~starts at two",
        scenes="we [used] @; we [asked about] @; I [phoned for] @",
        leads="before @ [started]; after @ [was done]",
    ),
)

MUSICIANS = aspects(
    "musicians",
    "pianist; jazz trio; cover band; guitarist",
    "restaurant hotel",
    person=True,
    good=tone(
        adjectives="brilliant; gifted; charming; wonderful; talented; superb",
        states="good enough for the Albert Hall; a delight to hear; pure class",
        deeds="had the whole place dancing; played like a dream; charmed the socks off us",
        scenes="we [cheered for] @; we [demanded an encore from] @",
    ),
    bad=tone(
        adjectives="tuneless; terrible; deafening; dreary; talentless; amateurish",
        states="out of tune and out of luck; far too loud for talk; a plague on the ears",
        deeds="murdered every tune; drowned out all talk; played the same song nine times",
        scenes="we [begged for silence from] @; I [wanted to strangle] @",
    ),
    plain=tone(
        states="near the door; dressed in white; from the next village",
        deeds="played from eight; took a break at nine; read from sheet music; sat by the window",
        scenes="we [sat opposite] @; we [asked for the name of] @; I [filmed] @",
        leads="while @ [<was|were> setting up]; when @ [took a break]",
    ),
)

PRICE = aspects(
    "price",
    "bill; prices +; service charge",
    "restaurant",
    good=tone(
        adjectives="reasonable; fair; modest; honest; affordable; sensible",
        states="a pleasant surprise; kind to the wallet; lower than we had feared",
        deeds="""made us check for mistakes in our favour; left us change for a taxi; put a smile on
        my accountant's face""",
        scenes="we [grinned at] @; I [could hardly believe my luck at] @",
    ),
    bad=tone(
        adjectives="steep; outrageous; exorbitant; extortionate; unfair; padded",
        states="a slap in the face; enough to buy a small boat; higher than the church tower",
        deeds="made my eyes water; took us for fools; ruined my appetite",
        scenes="we [gasped at] @; I [argued in vain about] @",
    ),
    plain=tone(
        states="printed on blue paper; in euros; rounded to the nearest pound",
        deeds="""came on a saucer; included the tax; came to thirty pounds a head; ~<is|are> given
        per person""",
        scenes="we [asked for] @; my brother [checked] @; we [divided] @ by five",
        leads="when we [asked for] @; while I [was checking] @",
    ),
)

RATE = aspects(
    "rate",
    "room rate; parking fee; resort fee",
    "hotel",
    good=tone(
        adjectives="reasonable; fair; modest; affordable; sensible; low",
        states="a steal; kind to a student's purse; worth it twice over",
        deeds="""left us money for ice cream; beat every other place in town; pleased my thrifty
        mother""",
        scenes="we [were pleased with] @; I [laughed with relief at] @",
    ),
    bad=tone(
        adjectives="steep; exorbitant; outrageous; extortionate; unfair; sneaky",
        states="a rip-off; hidden in the small print; closer to a ransom",
        deeds="left a hole in our budget; doubled without warning; made me choke",
        scenes="we [were shocked by] @; we [felt robbed by] @",
    ),
    plain=tone(
        states="due on arrival; set by the council; payable by card",
        deeds="""covered two adults; appeared on the invoice; came to twenty euros; ~<applies|apply>
        from Monday to Friday""",
        scenes="we [asked about] @; I [noted down] @; my company [covered] @",
        leads="before we [paid] @; after I [had settled] @",
    ),
)

PEOPLE = SERVERS + HOSTS + SERVICE + MUSICIANS + PRICE + RATE
