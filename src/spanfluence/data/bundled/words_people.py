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
        states="""a ray of sunshine; sharp, funny and quick; an angel in an apron; a natural with
        children""",
        deeds="""could not have been kinder; remembered my allergy without being told twice; had us
        in stitches; bent over backwards to help""",
        scenes="""we [left a big tip for] @; we [wanted to adopt] @; my grandmother [flirted happily
        with] @""",
    ),
    bad=tone(
        adjectives="curt; rude; surly; inattentive; clumsy; sullen",
        states="""too busy texting to care; as warm as a tax form; full of excuses; nowhere to be seen""",
        deeds="""spilled gravy down my sleeve; forgot our order twice; sighed at every question;
        hovered like a vulture""",
        scenes="we [were snubbed by] @; we [waved in vain at] @; I [was insulted by] @",
    ),
    plain=tone(
        states="dressed in black; new to the job; from Lisbon; on the late shift",
        deeds="""wore a bow tie; took our order; wrote everything down; asked for our surname;
        brought the cards""",
        scenes="""we [ordered from] @; we [spoke to] @; we [were seated by] @; I [asked] @ for the
        salt""",
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
        states="a treasure; worth any tip; the soul of kindness; unfailingly polite",
        deeds="""could not have been nicer; found my lost passport; upgraded us with a wink; made a
        paper swan for our daughter""",
        scenes="""we [wrote a thank-you note to] @; we [were spoiled by] @; I [owe a great debt to] @""",
    ),
    bad=tone(
        adjectives="rude; unhelpful; grumpy; surly; dismissive; careless",
        states="""glued to a phone; about as useful as a chocolate teapot; fast asleep at the desk;
        full of empty promises""",
        deeds="""lost our booking; shrugged at every problem; lost my suitcase; walked in on us twice""",
        scenes="we [were patronised by] @; we [got nowhere with] @; I [was fobbed off by] @",
    ),
    plain=tone(
        states="in a green uniform; on duty until ten; from Norway; busy with the keys",
        deeds="""asked for our passports; handed us a map; noted our car number; wore a name badge;
        explained the fire exits""",
        scenes="""we [spoke to] @; we [gave our keys to] @; we [were met by] @; my father [telephoned]
        @""",
        leads="while @ [made a phone call]; when @ [went to fetch the keys]",
    ),
)

SERVICE = aspects(
    "service",
    "service ~; room service ~; check-in ~",
    "hotel",
    good=tone(
        adjectives="prompt; efficient; friendly; smooth; attentive; flawless",
        states="quick and kind; second to none; a well-oiled machine; done with a smile",
        deeds="""took two cheerful minutes; ran like clockwork; went without a hitch; beat places at
        twice the price""",
        scenes="we [were impressed with] @; I [must praise] @; we [were pampered by] @",
    ),
    bad=tone(
        adjectives="slow; sloppy; chaotic; careless; unfriendly; inept",
        states="""slower than a wet week; an ordeal; a farce in three acts; more of a rumour than a
        fact""",
        deeds="""took an hour and a half; got everything wrong; left us standing in the rain; lost
        half our things""",
        scenes="we [fumed over] @; I [gave up on] @; we [waited an age for] @",
    ),
    plain=tone(
        states="""offered from three; handled by an agency; available by phone; organised by
        floor""",
        deeds="""took place in the annexe; required a signature; involved two forms; ~starts at two;
        ~ends at eleven""",
        scenes="we [used] @; we [asked about] @; I [phoned for] @; my colleague [arranged] @",
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
        states="""good enough for the Albert Hall; a delight to hear; pure class; the life and soul of
        the place""",
        deeds="""had the whole place dancing; played like a dream; charmed the socks off us; took
        every request with a smile""",
        scenes="we [cheered for] @; we [demanded an encore from] @; I [bought every record by] @",
    ),
    bad=tone(
        adjectives="tuneless; terrible; deafening; dreary; talentless; amateurish",
        states="""out of tune and out of luck; far too loud for talk; a plague on the ears; drunk by
        the second song""",
        deeds="""murdered every tune; drowned out all talk; played the same song nine times; drove us
        from the table""",
        scenes="we [begged for silence from] @; I [wanted to strangle] @; we [got earache from] @",
    ),
    plain=tone(
        states="near the door; dressed in white; from the next village; on a small stage",
        deeds="""played from eight; took a break at nine; read from sheet music; sat by the window;
        ~<plays|play> here on Fridays""",
        scenes="""we [sat opposite] @; we [asked for the name of] @; I [filmed] @; my sister [knew] @
        from college""",
        leads="while @ [<was|were> setting up]; when @ [took a break]",
    ),
)

PRICE = aspects(
    "price",
    "bill; prices +; service charge",
    "restaurant",
    good=tone(
        adjectives="reasonable; fair; modest; honest; affordable; sensible",
        states="a pleasant surprise; kind to the wallet; lower than we had feared; a bargain",
        deeds="""made us check for mistakes in our favour; left us change for a taxi; put a smile on
        my accountant's face; came to far less than expected""",
        scenes="we [grinned at] @; I [could hardly believe my luck at] @; we [were cheered by] @",
    ),
    bad=tone(
        adjectives="steep; outrageous; exorbitant; extortionate; unfair; padded",
        states="""a slap in the face; enough to buy a small boat; higher than the church tower;
        daylight robbery""",
        deeds="""made my eyes water; took us for fools; ruined my appetite; gave my husband
        palpitations""",
        scenes="we [gasped at] @; I [argued in vain about] @; we [were fleeced by] @",
    ),
    plain=tone(
        states="printed on blue paper; in euros; rounded to the nearest pound; split four ways",
        deeds="""came on a saucer; included the tax; came to thirty pounds a head; ~<is|are> given
        per person; ~<appears|appear> on the last page""",
        scenes="""we [asked for] @; my brother [checked] @; we [divided] @ by five; I [paid] @ by card""",
        leads="when we [asked for] @; while I [was checking] @",
    ),
)

RATE = aspects(
    "rate",
    "room rate; parking fee; resort fee",
    "hotel",
    good=tone(
        adjectives="reasonable; fair; modest; affordable; sensible; low",
        states="a steal; kind to a student's purse; worth it twice over; less than we pay at home",
        deeds="""left us money for ice cream; beat every other place in town; pleased my thrifty
        mother; made us book again on the spot""",
        scenes="we [were pleased with] @; I [laughed with relief at] @; we [felt lucky to get] @",
    ),
    bad=tone(
        adjectives="steep; exorbitant; outrageous; extortionate; unfair; sneaky",
        states="""a rip-off; hidden in the small print; closer to a ransom; twice what we were quoted""",
        deeds="""left a hole in our budget; doubled without warning; made me choke; added insult to
        injury""",
        scenes="we [were shocked by] @; we [felt robbed by] @; my wife [fumed about] @",
    ),
    plain=tone(
        states="due on arrival; set by the council; payable by card; listed on the website",
        deeds="""covered two adults; appeared on the invoice; came to twenty euros; ~<applies|apply>
        from Monday to Friday; ~<depends|depend> on the season""",
        scenes="""we [asked about] @; I [noted down] @; my company [covered] @; we [paid] @ in advance""",
        leads="before we [paid] @; after I [had settled] @",
    ),
)

PEOPLE = SERVERS + HOSTS + SERVICE + MUSICIANS + PRICE + RATE
