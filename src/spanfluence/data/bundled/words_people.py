"""Who serves and what it costs: people, service, music, prices, waiting. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

SERVERS = aspects(
    "servers",
    "waiter; waitress; hostess; sommelier; bartender; head waiter; servers +",
    "restaurant",
    determiners="the; the; our",
    person=True,
    good=tone(
        adjectives="friendly; attentive; charming; kind; patient; witty; courteous; helpful",
        states="""a ray of sunshine; sharp, funny and quick; an angel in an apron; a natural with children; a credit to the
        house; full of good advice; on top of every wish""",
        deeds="""could not have been kinder; remembered my allergy without being told twice; had us in stitches; went out of
        the usual way to help; made us feel like old friends; read our minds; took wonderful care of us; turned a spill
        into a joke and a free round""",
        scenes="""we [left a big tip for] @; we [wanted to adopt] @; my grandmother [flirted happily with] @; I [am forever grateful to] @""",
    ),
    bad=tone(
        adjectives="curt; rude; surly; inattentive; clumsy; sullen; impatient; condescending",
        states="""too busy texting to care; as warm as a tax form; full of excuses; nowhere to be seen; deaf to every plea;
        in a foul mood; an expert in rolling eyes""",
        deeds="""spilled gravy down my sleeve; forgot our order twice; sighed at every question; hovered like a vulture; snapped
        at my mother; treated us like burglars; ignored us for half an hour; laughed at my French""",
        scenes="""we [were snubbed by] @; we [waved in vain at] @; I [was insulted by] @; my father [had words with] @""",
    ),
    plain=tone(
        states="""dressed in black; new to the job; from Lisbon; on the late shift; at the till; called Robin, according to the
        badge""",
        deeds="""wore a bow tie; took our order; wrote everything down; asked for our surname; brought the cards; recited the
        specials; showed us the coat rack; ~<works|work> three days a week; ~<speaks|speak> Polish and Greek""",
        scenes="""we [ordered from] @; we [spoke to] @; I [asked] @ for the salt; we [were seated by] @; my brother [recognised]
        @ from school""",
        leads="while @ [took our order]; when @ [came over]; before @ [came back]",
    ),
)

HOSTS = aspects(
    "hosts",
    "receptionist; porter; concierge; night porter; housekeepers +; staff +; manager; lifeguard; bellboys +; landlady",
    "hotel",
    person=True,
    good=tone(
        adjectives="friendly; helpful; obliging; kind; patient; cheerful; courteous; welcoming",
        states="""a treasure; worth any tip in gold; the soul of kindness; unfailingly polite; a mine of local tips;
        as helpful as could be; ready for anything""",
        deeds="""could not have been nicer; found my lost passport; upgraded us with a wink; made a paper swan for our
        daughter; sorted everything out in minutes; greeted us like family; stayed late to fix our problem; lent me an
        umbrella and a smile""",
        scenes="""we [wrote a thank-you note to] @; we [were spoiled by] @; I [owe a great debt to] @; my aunt [wanted to hug]
        @""",
    ),
    bad=tone(
        adjectives="rude; unhelpful; grumpy; surly; dismissive; careless; incompetent; snooty",
        states="""glued to a phone; about as useful as a chocolate teapot; fast asleep at the desk; full of empty promises;
        colder than the marble; on the warpath""",
        deeds="""lost our booking; shrugged at every problem; lost my suitcase; walked in on us in the morning; shouted at
        the children; accused us of stealing a spoon; hung up on me twice; never once looked up""",
        scenes="""we [were patronised by] @; we [got nowhere with] @; I [was fobbed off by] @; my wife [was reduced to tears
        by] @""",
    ),
    plain=tone(
        states="""in a green uniform; on duty until ten; from Norway; busy with the keys; at the desk; behind a glass
        screen""",
        deeds="""asked for our passports; handed us a map; noted our car number; wore a name badge; explained the fire exits;
        gave us two keys; ~<works|work> in shifts; ~<lives|live> in the village""",
        scenes="""we [spoke to] @; we [gave our keys to] @; I [asked] @ for directions; we [were met by] @; my father
        [telephoned] @""",
        leads="while @ [made a phone call]; when @ [went to fetch the keys]; after we [had spoken to] @",
    ),
)

SERVICE = aspects(
    "service",
    "service ~; room service ~; check-in ~; housekeeping ~; check-out ~; laundry service ~",
    "hotel",
    good=tone(
        adjectives="prompt; efficient; friendly; smooth; attentive; flawless; swift",
        states="""quick and kind; second to none; a well-oiled machine; done with a smile; beyond reproach; worth five
        stars""",
        deeds="""took two cheerful minutes; ran like clockwork; went without a hitch; beat places at twice the price;
        anticipated every need""",
        scenes="""we [were impressed with] @; I [must praise] @; we [were pampered by] @; my boss [commended] @""",
    ),
    bad=tone(
        adjectives="slow; sloppy; chaotic; careless; unfriendly; inept; shambolic",
        states="""slower than a wet week; an ordeal; a farce in three acts; more of a rumour than a fact; late every time; beneath
        criticism""",
        deeds="""took an hour and a half; got everything wrong; left us standing in the rain; lost half our things; ground to a
        halt""",
        scenes="""we [fumed over] @; I [gave up on] @; we [waited an age for] @; my mother [was exhausted by] @""",
    ),
    plain=tone(
        states="""from three in the afternoon; handled by an agency; available by phone; organised by floor; done on a
        tablet""",
        deeds="""took place in the annexe; required a signature; involved two forms; ~starts at two; ~ends at eleven; ~costs
        five pounds extra""",
        scenes="""we [used] @; we [asked about] @; I [phoned for] @; my colleague [arranged] @""",
        leads="before @ [started]; after @ [was done]; while we [were waiting for] @",
    ),
)

TABLE_SERVICE = aspects(
    "table service",
    "service ~; kitchen; table service ~; takeaway service ~; delivery",
    "restaurant",
    good=tone(
        adjectives="prompt; efficient; quick; smooth; flawless; speedy; reliable",
        states="""quick without being hurried; second to none; like a ballet; up to every challenge; beyond reproach; on the
        ball""",
        deeds="""ran like clockwork; coped brilliantly with twelve of us; met every special request; did us proud; never put a
        foot wrong""",
        scenes="""we [were impressed by] @; we [raised our glasses to] @; I [must compliment] @; my father [clapped for] @""",
    ),
    bad=tone(
        adjectives="slow; sloppy; chaotic; shambolic; careless; disorganised; inept",
        states="""slower than continental drift; in total disarray; all over the place; a comedy without jokes; late, wrong and
        proud of it""",
        deeds="""took ninety minutes over a sandwich; got every order wrong; forgot the whole table; fell to pieces; mixed up
        everything""",
        scenes="""we [lost patience with] @; I [grew old waiting on] @; we [were driven mad by] @; my mother [despaired of] @""",
    ),
    plain=tone(
        states="""in two shifts; split between two floors; run by three people; based next door; closed between three and
        five""",
        deeds="""started at noon; used paper slips; worked with buzzers; ~closes at nine; ~runs until ten on weekdays; ~ends at
        half past nine""",
        scenes="""we [asked about] @; we [watched] @ through a hatch; I [looked up] @ online; my cousin [explained] @ to us""",
        leads="before @ [started up]; while @ [was getting ready]; after @ [had closed]",
    ),
)

MUSICIANS = aspects(
    "musicians",
    "pianist; jazz trio; cover band; guitarist; accordion player; resident singer",
    "restaurant hotel",
    person=True,
    good=tone(
        adjectives="brilliant; gifted; charming; wonderful; talented; superb; joyful",
        states="""good enough for the Albert Hall; a delight to hear; pure class; the life and soul of the place; a joy from the
        first note""",
        deeds="""had the whole place dancing; played like a dream; charmed the socks off us; took every request with a smile; gave
        us goosebumps""",
        scenes="""we [cheered for] @; we [demanded an encore from] @; I [bought every record by] @; my wife [blew kisses to] @""",
    ),
    bad=tone(
        adjectives="tuneless; terrible; deafening; dreary; talentless; amateurish; gloomy",
        states="""out of tune and out of luck; far too loud for talk; a plague on the ears; drunk by the second song; worse than my
        nephew's recorder""",
        deeds="""murdered every tune; drowned out all talk; played the same song nine times; drove us from the table; made the
        glasses tremble; made the dog howl""",
        scenes="""we [begged for silence from] @; I [wanted to strangle] @; we [got earache from] @; my father [stuffed bread in his
        ears against] @""",
    ),
    plain=tone(
        states="""near the door; dressed in white; from the next village; on a small stage; booked until nine; hidden behind a
        palm""",
        deeds="""played from eight; took a break at nine; read from sheet music; sat by the window; ~<plays|play> here on Fridays;
        ~<performs|perform> twice a week""",
        scenes="""we [sat opposite] @; we [asked for the name of] @; my sister [knew] @ from college; I [filmed] @""",
        leads="while @ [<was|were> setting up]; when @ [took a break]; before @ [started]",
    ),
)

MUSIC = aspects(
    "music",
    "background music ~; playlist; karaoke ~; live music ~; quiz night",
    "restaurant hotel",
    good=tone(
        adjectives="lively; cheerful; tasteful; enjoyable; well-chosen; delightful",
        states="""music to our ears; chosen by someone with taste; great fun; just loud enough to hum to; a tonic""",
        deeds="""had our toes tapping; lifted the whole place; brought strangers together; set a lovely mood; had us laughing until
        we cried""",
        scenes="""we [hummed along happily to] @; I [was cheered up by] @; we [thoroughly enjoyed] @; my parents [waltzed, beaming,
        to] @""",
    ),
    bad=tone(
        adjectives="deafening; dreary; intrusive; monotonous; grating; tiresome",
        states="""loud enough to loosen teeth; one endless loop of pan pipes; an assault on the ears; pure torment; worse than
        silence""",
        deeds="""made talk impossible; gave me a migraine; bored us to tears; drilled into my skull; drove us up the wall""",
        scenes="""we [had to shout over] @; I [plugged my ears against] @; we [suffered through] @; my wife [was driven out by]
        @""",
    ),
    plain=tone(
        states="""mostly from the eighties; in Italian; on until ten; instrumental; chosen by the regulars; in the back
        parlour""",
        deeds="""started at nine; came from a small speaker; ended before eleven; ~starts at eight on Tuesdays; ~runs every other
        week""",
        scenes="""we [listened to] @ for a while; we [asked about] @; I [noticed] @; my friend [identified] @""",
        leads="before @ [started]; after @ [had ended]; while @ [was on]",
    ),
)

PRICE = aspects(
    "price",
    "bill; prices +; service charge; cover charge; set price; drinks prices +",
    "restaurant",
    good=tone(
        adjectives="reasonable; fair; modest; honest; affordable; sensible",
        states="""a pleasant surprise; kind to the wallet; lower than we had feared; a bargain; gentler than a bus fare; easy to
        swallow""",
        deeds="""made us check for mistakes in our favour; left us change for a taxi; put a smile on my accountant's face; came to
        far less than expected""",
        scenes="""we [grinned at] @; I [could hardly believe my luck at] @; we [were cheered by] @; my stingy uncle
        [approved of] @""",
    ),
    bad=tone(
        adjectives="steep; outrageous; exorbitant; extortionate; unfair; padded; ridiculous",
        states="""a slap in the face; enough to buy a small boat; higher than the church tower; daylight robbery; beyond a joke; full
        of things we never had""",
        deeds="""made my eyes water; took us for fools; ruined my appetite; gave my husband palpitations; rose between starter and
        pudding""",
        scenes="""we [gasped at] @; I [argued in vain about] @; we [were fleeced by] @; my father [nearly fainted at] @""",
    ),
    plain=tone(
        states="""printed on blue paper; in euros; rounded to the nearest pound; split four ways; listed at the back; inclusive of
        tax""",
        deeds="""came on a saucer; included the tax; came to thirty pounds a head; ~<is|are> given per person; ~<appears|appear> on the
        last page; ~<includes|include> a jug of water""",
        scenes="""we [asked for] @; we [divided] @ by five; I [paid] @ by card; my brother [checked] @""",
        leads="when we [asked for] @; while I [was checking] @; before we [saw] @",
    ),
)

RATE = aspects(
    "rate",
    "room rate; parking fee; resort fee; tourist tax; weekend rates +; deposit",
    "hotel",
    good=tone(
        adjectives="reasonable; fair; modest; affordable; sensible; low",
        states="""a steal; kind to a student's purse; worth it twice over; less than we pay at home; a pleasant surprise; astonishing
        value""",
        deeds="""left us money for ice cream; beat every other place in town; pleased my thrifty mother; made us book again on the
        spot""",
        scenes="""we [were pleased with] @; I [laughed with relief at] @; we [felt lucky to get] @; my accountant [applauded] @""",
    ),
    bad=tone(
        adjectives="steep; exorbitant; outrageous; extortionate; unfair; sneaky; absurd",
        states="""a rip-off; hidden in the small print; closer to a ransom; twice what we were quoted; a scandal; sheer greed""",
        deeds="""left a hole in our budget; doubled without warning; made me choke; added insult to injury; sneaked onto our
        card""",
        scenes="""we [were shocked by] @; I [disputed] @ to no avail; we [felt robbed by] @; my wife [fumed about] @""",
    ),
    plain=tone(
        states="""due on arrival; set by the council; payable by card; the same all year; listed on the website; calculated per
        night""",
        deeds="""covered two adults; appeared on the invoice; came to twenty euros; ~<applies|apply> from Monday to Friday; ~<depends|depend> on
        the season; ~<has|have> to be paid in cash""",
        scenes="""we [paid] @ in advance; we [asked about] @; I [noted down] @; my company [covered] @""",
        leads="before we [paid] @; after I [had settled] @; while we [were discussing] @",
    ),
)

WAITING = aspects(
    "waiting",
    "queue; wait; waiting list",
    "restaurant",
    good=tone(
        adjectives="short; painless; manageable; civilised; bearable",
        states="""over before we noticed; softened by free olives; nothing to speak of; worth every second; shorter than a pop song""",
        deeds="""flew by; moved at a cheerful trot; went by in a flash; never bothered us; gave us time to make friends""",
        scenes="""we [were agreeably surprised by] @; we [laughed our way through] @; I [hardly noticed] @""",
    ),
    bad=tone(
        adjectives="endless; tedious; unbearable; painful; ridiculous; maddening",
        states="""long enough to grow a beard; a test of character; out of all proportion; an hour in the drizzle; beyond all
        patience""",
        deeds="""went twice round the block; crawled along; wore us out; felt like a prison sentence; broke our spirit""",
        scenes="""we [shivered in vain through] @; I [lost the will to live in] @; we [nearly starved during] @; my feet [went numb
        in] @""",
    ),
    plain=tone(
        states="""outside the door; managed by text message; about a dozen people long; on the left of the door; twenty minutes""",
        deeds="""started at the gate; ran along the window; ended at the till; ~is normal at lunchtime; ~is shown on a screen""",
        scenes="""we [joined] @; we [asked about] @; I [kept our place in] @""",
        leads="while we [stood in] @; after we [had joined] @; before we [saw] @",
    ),
)

BOOKING = aspects(
    "booking",
    "website; booking system; booking app; confirmation email; reservation line; loyalty card",
    "restaurant hotel",
    good=tone(
        adjectives="clear; simple; helpful; handy; reliable; user-friendly",
        states="""a piece of cake; a model of clarity; a doddle to use; quick and painless; a pleasure to deal with""",
        deeds="""answered all our questions; worked like a charm; saved us a lot of bother; took the strain off; gave us a welcome
        discount""",
        scenes="""we [were glad of] @; I [was impressed by] @; we [got on famously with] @; my tech-shy aunt [managed happily
        with] @""",
    ),
    bad=tone(
        adjectives="confusing; useless; misleading; clunky; hopeless; infuriating",
        states="""full of lies; a maze with no exit; forever crashing; hopelessly out of date; worse than useless""",
        deeds="""crashed three times; charged us twice; sent us to the wrong address; promised what nobody could deliver; lost our
        names""",
        scenes="""we [tore our hair out over] @; I [wasted an hour on] @; we [were misled by] @; my wife [gave up on] @""",
    ),
    plain=tone(
        states="""in four languages; linked to a calendar; new since March; sent by a third party; required for groups; blue and
        white""",
        deeds="""listed the opening hours; asked for a phone number; showed a map; ~<needs|need> a password; ~<is|are> run by another
        firm""",
        scenes="""we [used] @; we [looked at] @ first; I [showed] @ at the door; my colleague [tried] @""",
        leads="after we [had used] @; before we [got] @; while I [was looking for] @",
    ),
)

PEOPLE = (
    SERVERS + HOSTS + SERVICE + TABLE_SERVICE + MUSICIANS + MUSIC + PRICE + RATE + WAITING + BOOKING
)
