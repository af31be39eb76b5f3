"""What a house is made of: rooms, beds, pools, gadgets, views. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

BED = aspects(
    "bed",
    "mattress; pillows +; bed; duvet; sofa bed; bunk beds +; futon",
    "hotel",
    determiners="the; the; our",
    good=tone(
        adjectives="comfortable; soft; supportive; luxurious; cosy; inviting; sumptuous",
        states="""like sleeping on a cloud; kind to my bad back; hard to leave in the morning; better
        than anything at home; soft where it matters and firm where it counts; made for kings;
        the cure for jet lag""",
        deeds="""sent us off like babies; healed my back; swallowed us up in the loveliest way; gave
        me the deepest sleep in years; made the alarm clock my enemy""",
        scenes="""we [sank blissfully into] @; I [wanted to smuggle home] @; the twins [slept like logs
        on] @; we [asked where we could buy] @""",
    ),
    bad=tone(
        adjectives="lumpy; saggy; hard; musty; creaky; scratchy; uncomfortable; thin",
        states="""as flat as a pancake; stuffed with gravel, apparently; a torture device; broken in
        two places; older than the monarchy; short by a foot; full of crumbs from another guest""",
        deeds="""sagged like a hammock; groaned at every breath; gave me a stiff neck; poked us in the
        ribs; smelled of wet dog; kept us awake until dawn""",
        scenes="""I [ached for days because of] @; we [fled to the floor from] @; my husband [fell through]
        @; I [would rather sleep on a park bench than on] @""",
    ),
    plain=tone(
        states="""by the window; made up with white linen; against the far wall; delivered by two men;
        of the Swedish kind; stored in the wardrobe""",
        deeds="""came with a spare blanket; stood under the eaves; had a blue cover; ~<is|are> replaced
        every five years; ~<comes|come> in two widths; ~<has|have> a washable cover""",
        scenes="""we [put our coats on] @; my sister [took] @ by the door; we [asked for] @ in advance;
        the children [shared] @""",
        leads="while we [were making up] @; after we [had turned down] @; before we [tried] @",
    ),
)

LINEN = aspects(
    "linen",
    "towels +; sheets +; bathrobes +; slippers +; blankets +; beach towels +",
    "hotel",
    good=tone(
        adjectives="fluffy; soft; crisp; spotless; snowy; luxurious; cosy",
        states="""as soft as a kitten; fresh every morning; thick, warm and endless; fit for a film
        star; warm from the rail; scented with lavender""",
        deeds="""smelled of fresh air; felt like a hug; made us feel like royalty; were swapped before
        we could ask; wrapped us in bliss""",
        scenes="""we [lived happily in] @; I [was tempted to steal] @; my daughter [cuddled] @; we
        [wallowed in] @""",
    ),
    bad=tone(
        adjectives="threadbare; grubby; scratchy; damp; stained; frayed; smelly",
        states="""as rough as sandpaper; grey with age; still wet from the last guest; full of holes;
        too small to cover a cat; stiff enough to stand up alone""",
        deeds="""smelled of mildew; shed fluff on everything; took off a layer of skin; had somebody
        else's hair on them; fell to pieces in our hands""",
        scenes="""we [recoiled from] @; I [refused to touch] @; my wife [itched all over from] @; we [sent
        away] @ twice""",
    ),
    plain=tone(
        states="""folded on a chair; kept in the cupboard; striped; changed every other day; stacked on
        a shelf; marked with the house initials""",
        deeds="""came in two colours; hung behind the door; were handed out at the desk; ~are changed
        on Wednesdays; ~can be hired for two pounds""",
        scenes="""we [used] @; we [found] @ in the wardrobe; I [asked for] @; we [packed] @ into a bag""",
        leads="while we [were folding] @; after @ [had been delivered]; when @ [were brought up]",
    ),
)

ROOM = aspects(
    "room",
    "room; suite; bathroom; family room; attic room; cabin; twin room",
    "hotel",
    determiners="the; our; our",
    good=tone(
        adjectives="spacious; bright; spotless; airy; cosy; charming; stylish; immaculate",
        states="""so clean you could eat off the floor; full of light; warm, dry and welcoming;
        a little palace; better than in the photos; decorated with real taste; as quiet as a
        chapel""",
        deeds="""sparkled from floor to ceiling; felt like home within minutes; had everything we could
        want; exceeded our wildest hopes; smelled of beeswax and roses""",
        scenes="""we [hated to leave] @; I [would move for good into] @; we [squealed with joy at] @; my
        mother [fell for] @ at once""",
    ),
    bad=tone(
        adjectives="cramped; dingy; grubby; musty; stuffy; filthy; gloomy; shabby",
        states="""no bigger than a wardrobe; thick with dust; speckled with mould; crawling with ants;
        a prison cell with curtains; sticky underfoot; in dire need of paint""",
        deeds="""reeked of cigarettes; had not seen a mop in months; gave me the creeps; smelled of old
        socks; looked like a crime scene; made us sneeze without end""",
        scenes="""we [begged to be moved out of] @; I [shuddered at] @; we [spent as little time as possible
        in] @; my son [bumped his head everywhere in] @""",
    ),
    plain=tone(
        states="""on the third floor; at the end of the corridor; painted white; next to the stairs;
        number seventeen; carpeted; facing the yard""",
        deeds="""had two windows; came with a small desk; looked onto the yard; ~<sleeps|sleep> four;
        ~<has|have> a connecting door; ~<measures|measure> twenty square metres""",
        scenes="""we [checked into] @; we [left our bags in] @; I [booked] @ by phone; we [were given the
        key to] @; my parents [stayed in] @""",
        leads="""when we [walked into] @; while we [were unpacking in] @; after we [had moved into] @;
        as we [were leaving] @""",
    ),
)

WASH = aspects(
    "wash",
    "shower; bathtub; rain shower; hot tub; basin; steam room",
    "hotel",
    good=tone(
        adjectives="spotless; powerful; luxurious; relaxing; sparkling; splendid",
        states="""hot in seconds; big enough for a small orchestra; a blessing after a day on the
        hills; gleaming; bliss for tired legs; the stuff of adverts""",
        deeds="""washed all our troubles away; ran hot for as long as we liked; eased every muscle; made
        us feel new; beat any spa""",
        scenes="""I [spent a blissful hour in] @; we [took turns to sing in] @; my husband [had to be
        dragged out of] @; we [basked in] @""",
    ),
    bad=tone(
        adjectives="leaky; mouldy; scummy; grimy; slimy; rusty; feeble",
        states="""either scalding or freezing; blocked with hair; a weak dribble; cracked down the
        middle; cold every single time; ankle-deep in grey water; lined with slime""",
        deeds="""flooded the floor; dripped all night; scalded my elbow; coughed up brown water; smelled
        of rotten eggs; gave up after a minute""",
        scenes="""we [queued shivering for] @; I [yelped in] @; we [wrestled with] @ in vain; my aunt
        [slipped in] @""",
    ),
    plain=tone(
        states="""behind a glass door; tiled in green; on the left; fitted with a handle; next to the
        window; of the usual height""",
        deeds="""had two taps; stood in the corner; came with a stool; ~<has|have> a timer; ~<takes|take>
        ninety litres; ~<is|are> cleaned at noon""",
        scenes="""we [used] @ in turns; I [tried] @; we [found] @ behind a curtain; my brother [used] @
        first""",
        leads="before I [turned on] @; after we [had used] @; while I [was in] @",
    ),
)

LEISURE = aspects(
    "leisure",
    "pool; gym; sauna; spa; tennis court; rooftop pool; games room; private beach",
    "hotel",
    good=tone(
        adjectives="clean; relaxing; spacious; well-kept; inviting; splendid; peaceful",
        states="""a dream for swimmers and loafers alike; worth the stay alone; deserted and glorious;
        pure bliss; kept in perfect order; paradise for the children; the jewel of the house""",
        deeds="""kept the children happy for hours; left us wonderfully limp; had all we needed and
        more; put us in a sunny mood; melted our worries""",
        scenes="""we [had a whale of a time in] @; I [could have spent a week in] @; the kids [begged to
        go back to] @; we [had the time of our lives at] @""",
    ),
    bad=tone(
        adjectives="dirty; overcrowded; neglected; smelly; freezing; grimy; run-down",
        states="""the size of a bath mat; green with algae; full of shrieking stag parties; shut
        without a word of warning; covered in broken glass; a health hazard; a swamp in all but
        name""",
        deeds="""stank of chlorine; closed just as we arrived; looked abandoned; gave my son a rash; had
        not been cleaned in living memory; broke a promise of the brochure""",
        scenes="""we [lasted two minutes in] @; I [caught a cold in] @; we [searched in vain for a clean
        corner of] @; my daughter [cut her foot at] @""",
    ),
    plain=tone(
        states="""on the lower level; open to members of the public; reached by a footbridge; behind the
        annexe; marked on the map; next to the orchard""",
        deeds="""opened at nine; lay behind the main building; had a wooden bench; ~<closes|close> at
        eight; ~<costs|cost> ten pounds a day; ~<is|are> for adults only before noon""",
        scenes="""we [walked past] @; we [went to] @; I [had a key to] @; my cousins [were at] @; we [were
        shown] @""",
        leads="while we [were at] @; after we [had been to] @; [on the way back from] @",
    ),
)

GADGET = aspects(
    "gadget",
    "wifi ~; television; key card; lift; kettle; hairdryer; room safe; coffee machine; iron",
    "hotel",
    good=tone(
        adjectives="reliable; fast; modern; handy; user-friendly; efficient",
        states="""a godsend; easy enough for my grandmother; quick as lightning; brand new and foolproof;
        simple and clever; better than at my office""",
        deeds="""worked like a charm; never let us down; saved our bacon; worked first time, every time;
        did its job without a murmur; made life easy""",
        scenes="""we [were grateful for] @; I [blessed] @; my father [was thrilled with] @; we [relied
        happily on] @""",
    ),
    bad=tone(
        adjectives="unreliable; slow; temperamental; useless; ancient; faulty; noisy",
        states="""broken on arrival; dead as a dodo; slower than a carrier pigeon; held together with
        tape; a museum piece; out of order and nobody cared""",
        deeds="""gave up every ten minutes; refused to work; died on us; blew a fuse; hummed like a hornet; nearly set fire to the
        curtains""",
        scenes="""we [battled with] @; I [cursed] @; we [never once got any use out of] @; my wife [swore
        at] @""",
    ),
    plain=tone(
        states="""in the corner; explained in a leaflet; next to the door; of the usual kind; made in
        Germany""",
        deeds="""came with a manual; had a green light; ran on the house system; ~<is|are> included in the
        price; ~<needs|need> a code from the desk; ~<switches|switch> off at midnight""",
        scenes="""we [used] @ twice; I [tried] @; we [asked about] @ at the desk; my son [used] @ for his
        homework""",
        leads="before we [used] @; while I [was looking at] @; after I [had tried] @",
    ),
)

CLIMATE = aspects(
    "climate",
    "air conditioning ~; heating ~; radiator; ceiling fan; fireplace",
    "hotel restaurant",
    good=tone(
        adjectives="effective; quiet; efficient; welcome; pleasant; reliable",
        states="""a blessing; as quiet as a mouse; just right; a lifesaver; cosy beyond words; set to
        perfection""",
        deeds="""kept us perfectly comfortable; worked like a dream; purred like a cat; saved the day; did
        wonders""",
        scenes="""we [thanked the heavens for] @; we [huddled happily by] @; my mother [sang the praises of]
        @; we [were glad of] @""",
    ),
    bad=tone(
        adjectives="noisy; feeble; erratic; broken; useless; deafening",
        states="""stuck on arctic; as loud as a tractor; out of action; impossible to turn down; all noise
        and no effect; a menace""",
        deeds="""rattled like a skeleton; dripped on my head; roasted us alive; froze us to the bone; coughed
        dust at us; broke down within the hour""",
        scenes="""we [shivered because of] @; I [got a sore throat from] @; we [pleaded in vain for someone to
        fix] @; my glasses [steamed up thanks to] @""",
    ),
    plain=tone(
        states="""near the window; set to nineteen degrees; operated with a switch; painted grey; on a timer;
        under the shelf""",
        deeds="""had three settings; came on at six; ran on gas; ~<is|are> switched off in April; ~<has|have> a
        dial by the door""",
        scenes="""we [sat near] @; I [turned down] @ a little; we [asked about] @; my aunt [adjusted] @""",
        leads="while @ [was running]; after I [had adjusted] @; when @ [came on]",
    ),
)

OUTDOORS = aspects(
    "outdoors",
    "terrace; garden; courtyard; balcony; patio; rooftop; veranda; beer garden",
    "restaurant hotel",
    good=tone(
        adjectives="lovely; charming; peaceful; leafy; romantic; enchanting; idyllic; sheltered",
        states="""a little paradise; full of roses and bees; made for long evenings; the prettiest spot for
        miles; pure magic; an oasis; straight out of a painting""",
        deeds="""took our breath away; smelled of jasmine; could have been in a fairy tale; begged us to
        linger; lifted our spirits""",
        scenes="""we [could have stared forever at] @; we [whiled away happy hours enjoying] @; my wife [fell in love
        with] @; the painter in our party [raved about] @""",
    ),
    bad=tone(
        adjectives="shabby; noisy; dirty; neglected; weedy; bleak; cluttered; overgrown",
        states="""ruled by wasps; full of cigarette ends; a glorified car park; knee-deep in litter; under siege
        from pigeons; a building site; draughty and damp""",
        deeds="""stank of the bins; wobbled underfoot; looked out on a skip; shook with every lorry; gave us hay
        fever and a headache""",
        scenes="""we [were driven indoors from] @; I [sneezed my way across] @; we [got bitten to bits while looking at] @;
        my brother [wrinkled his nose at] @""",
    ),
    plain=tone(
        states="""round the back; paved with brick; next to the annexe; open from noon; on the west side; lit by
        lanterns; up a flight of steps""",
        deeds="""had six tables; faced the river; lay behind a hedge; ~<seats|seat> forty; ~<opens|open> in
        April; ~<is|are> reserved for guests on Sundays""",
        scenes="""we [walked through] @; we [were shown] @; we [passed] @ on our way in; my uncle [photographed] @;
        smokers [were sent to] @""",
        leads="while we [were crossing] @; after we [had seen] @; [on the way to] @",
    ),
)

INDOORS = aspects(
    "indoors",
    "dining room; lobby; lounge; library; conservatory; bar; cellar; entrance hall",
    "restaurant hotel",
    good=tone(
        adjectives="elegant; cosy; charming; welcoming; stylish; bright; grand; beautiful",
        states="""straight out of a costume drama; warm with candlelight; full of character; a feast for the
        eyes; handsome in every corner; made for lazy afternoons""",
        deeds="""oozed charm; made us feel at home; glowed like a lantern; hummed with happy chatter; took us
        back to better times""",
        scenes="""we [were enchanted by] @; we [could have lingered forever in] @; I [wanted to move into] @; my
        sister [swooned over] @""",
    ),
    bad=tone(
        adjectives="gloomy; shabby; draughty; cramped; noisy; soulless; dingy; chilly",
        states="""as cosy as a bus station; crammed to the rafters; dark as a cave; done up in mustard and
        regret; colder than the street; full of drunks""",
        deeds="""smelled of wet carpet; echoed like a swimming bath; had all the charm of a waiting room; felt
        like an airport at dawn; made conversation impossible""",
        scenes="""we [could not wait to get out of] @; we [huddled in our coats in] @; I [hit my head on a beam in]
        @; my mother [choked on the smoke in] @""",
    ),
    plain=tone(
        states="""on the ground floor; to the left of the stairs; painted green; divided by a screen; through a
        double door; lined with books""",
        deeds="""had a piano; had a tiled floor; looked onto the street; ~<holds|hold> sixty people; ~<opens|open> at
        five; ~<dates|date> from 1904""",
        scenes="""we [waited in] @; we [were seated in] @; we [met our friends in] @; I [crossed] @; we [left our
        umbrellas in] @""",
        leads="while we [were sitting in] @; as we [walked through] @; after we [had met in] @",
    ),
)

MOOD = aspects(
    "mood",
    "atmosphere; decor ~; lighting ~; interior; ambience ~",
    "restaurant hotel",
    good=tone(
        adjectives="warm; romantic; cheerful; relaxed; tasteful; magical; inviting",
        states="""like a warm bath; enough to make anyone fall in love; witty and warm; a delight in every detail;
        pitched just right; a breath of fresh air""",
        deeds="""put us at ease; set the mood beautifully; made the place sing; flattered everyone over forty; had us
        grinning like fools""",
        scenes="""we [basked in] @; we [soaked up with delight] @; I [was captivated by] @; our guests
        [complimented] @""",
    ),
    bad=tone(
        adjectives="gloomy; sterile; tacky; dated; depressing; garish; chilly; tasteless",
        states="""as lively as a dentist's; one step from a morgue; a cry for help; stuck in 1978; harsh enough for
        surgery; a riot of bad ideas""",
        deeds="""gave me a headache; sucked the life out of us; killed the mood; drove us out early; set my teeth on
        edge""",
        scenes="""we [winced at] @; I [was depressed by] @; my husband [squinted miserably at] @; we [fled
        from] @""",
    ),
    plain=tone(
        states="""in the style of the sixties; mostly brown and cream; the work of a local firm; maritime in theme;
        much the same throughout; typical of the region""",
        deeds="""followed a nautical theme; matched the website; changed after nine; ~<is|are> updated every
        decade; ~<draws|draw> on local motifs""",
        scenes="""we [talked about] @; my wife, who is an architect, [described] @ to us; I [sketched] @; we
        [noticed] @""",
        leads="while we [were looking at] @; after we [had taken in] @; as we [discussed] @",
    ),
)

SEATING = aspects(
    "seating",
    "chairs +; booth; bar stools +; table; benches +; sofas +; deckchairs +",
    "restaurant hotel",
    good=tone(
        adjectives="comfortable; cosy; roomy; sturdy; elegant; inviting",
        states="""kind to old bones; hard to get up from; perfect for a long chat; big enough for a party; polished
        and pretty; the best spot in the house""",
        deeds="""held us in comfort for hours; welcomed tired legs; gave us all the space we wanted; cradled us
        gently""",
        scenes="""we [lounged contentedly at] @; I [was reluctant to give up] @; my grandmother [approved
        heartily of] @; we [bagged, to our joy,] @""",
    ),
    bad=tone(
        adjectives="wobbly; sticky; rickety; hard; uncomfortable; filthy; cramped",
        states="""built for toddlers; covered in crumbs; about to collapse; wedged beside the bins; torn and
        stained; as hard as a pew; right in the draught""",
        deeds="""gave my father backache; rocked like a boat; snagged my best dress; pinched in the wrong places;
        collapsed under my uncle; numbed us from the waist down""",
        scenes="""we [were stuck for hours with] @; I [fell off] @; we [wiped the grime off] @; my wife [tore her sleeve on] @""",
    ),
    plain=tone(
        states="""made of oak; near the window; from the thirties; arranged in rows; by the wall; painted blue""",
        deeds="""stood near the door; came from an old church; had a brass number; ~<is|are>
        made by a local joiner""",
        scenes="""we [moved] @ a little; we [were pointed to] @; I [put my hat on] @; a man [was repairing] @""",
        leads="""while we [were choosing] @; after we [had moved] @; before we [were shown to] @""",
    ),
)

TABLEWARE = aspects(
    "tableware",
    "glasses +; cutlery ~; plates +; napkins +; tablecloths +; teacups +; crockery ~",
    "restaurant",
    good=tone(
        adjectives="elegant; spotless; sparkling; beautiful; delicate; pretty",
        states="""polished until <it|they> shone; a pleasure to hold; as pretty as a still life; worthy of a palace;
        immaculate""",
        deeds="""sparkled in the light; gleamed like new; made every bite feel special; added a touch of class""",
        scenes="""we [admired] @; I [coveted] @; my mother [was taken with] @; we [cooed over] @""",
    ),
    bad=tone(
        adjectives="greasy; chipped; dirty; smeared; grubby; sticky; cheap",
        states="""smeared with lipstick; crusted with egg; chipped and cracked; still wet and soapy; a danger to the
        lips; stained beyond hope""",
        deeds="""bore traces of yesterday's gravy; smelled of dishcloth; bent in our hands; put us off our food; cut my
        lip""",
        scenes="""we [wiped with disgust] @; I [handed back] @ twice; my aunt [grimaced at] @; we [asked in vain for
        clean versions of] @""",
    ),
    plain=tone(
        states="""laid out in advance; kept on a dresser; plain white; made locally; changed between courses; stacked
        on a shelf""",
        deeds="""came in a wooden box; matched the curtains; carried the house logo; ~<is|are> also for sale; ~<comes|come>
        from Portugal""",
        scenes="""a boy [brought] @; we [counted] @; I [rearranged] @; they [set out] @ before we sat down""",
        leads="while @ [<was|were> being set out]; after @ [had been cleared]; before @ [<was|were> replaced]",
    ),
)

VIEW = aspects(
    "view",
    "view; sea view; panorama; harbour view; outlook",
    "hotel restaurant",
    good=tone(
        adjectives="stunning; breathtaking; magnificent; glorious; spectacular; gorgeous; splendid",
        states="""worth every stair; enough to make you gasp; like a postcard; a poem; the best on the whole coast;
        beyond words""",
        deeds="""left us speechless; took my breath away; stopped us in our tracks; made up for any hardship; brought
        tears to my eyes""",
        scenes="""we [never tired of] @; I [could have gazed forever at] @; my wife [wept with joy at] @; we [drank in like champagne] @""",
    ),
    bad=tone(
        adjectives="dismal; bleak; ugly; grim; miserable; dreary; depressing",
        states="""of a brick wall, whatever the website says; of bins and more bins; blocked by scaffolding; a cruel
        joke; nothing but air vents; hidden by a billboard""",
        deeds="""took in a scrapyard; ended at a concrete wall; made us draw the curtains; broke my heart a little;
        featured mostly dustbins""",
        scenes="""we [felt cheated by] @; I [paid extra in vain for] @; we [drew the curtains on] @; my friend [laughed
        grimly at] @""",
    ),
    plain=tone(
        states="""to the south; over the car park and the church; towards the station; of the main square; across the
        road; over fields""",
        deeds="""took in the old bridge; faced east; included the lighthouse; ~<costs|cost> ten pounds extra; ~<changes|change>
        with the tides""",
        scenes="""we [photographed] @; my brother [painted] @; we [compared] @ with the map; I [described] @ on the phone""",
        leads="while we [were looking at] @; after I [had photographed] @; before we [saw] @",
    ),
)

PLACE = aspects(
    "place",
    "location; neighbourhood; street; setting",
    "hotel restaurant",
    good=tone(
        adjectives="convenient; central; lively; charming; picturesque; safe; delightful",
        states="""ideal for exploring on foot; a stone's throw from everything; perfect for families; second to none; as
        pretty as a film set; hard to beat""",
        deeds="""saved us a fortune in taxis; suited us down to the ground; ticked every box; made sightseeing a breeze""",
        scenes="""we [quickly grew fond of] @; I [was delighted by] @; my parents
        [took to] @ at once""",
    ),
    bad=tone(
        adjectives="inconvenient; remote; rough; noisy; seedy; dangerous; grim",
        states="""miles from anything; under a flight path; next door to a fish factory; no place for a stroll; a nightmare
        to reach; home to every drunk in the county""",
        deeds="""gave us the jitters; cost us an hour in traffic; shook with passing trains; stank of diesel; kept us
        indoors after dark""",
        scenes="""we [grew to dread] @; I [clutched my handbag in] @; we [were scared of] @; my uncle [was nearly
        robbed in] @""",
    ),
    plain=tone(
        states="""between the station and the park; on the map in the lobby; north of the river; near the town hall; on the
        number nine bus route; mostly residential""",
        deeds="""lay behind the station; took ten minutes to reach on foot; had a chemist and a bank; ~<is|are> described on
        the website; ~<has|have> a tram stop""",
        scenes="""we [asked about] @; we [looked up] @ on the map; my cousin [knew] @ already; I [described] @ to the taxi
        driver""",
        leads="while we [were looking for] @; after we [had found] @; before we [saw] @",
    ),
)

QUIET = aspects(
    "quiet",
    "walls +; windows +; front door; soundproofing ~; shutters +; curtains +",
    "hotel",
    good=tone(
        adjectives="solid; sturdy; thick; effective; well-made",
        states="""thick enough for a castle; proof against any racket; a shield against the world; sound as a bell; up to
        any storm""",
        deeds="""kept the noise out beautifully; gave us perfect peace; blocked out every sound; let us sleep like stones;
        kept the heat at bay""",
        scenes="""we [slept soundly thanks to] @; I [was thankful for] @; we [owe our good sleep to] @""",
    ),
    bad=tone(
        adjectives="flimsy; thin; mouldy; leaky; rattly; useless; draughty",
        states="""made of paper; no match for a whisper; black with mildew; nailed shut; cracked from top to bottom; a joke in
        poor taste""",
        deeds="""let in every sneeze from next door; rattled all night; whistled in the wind; dripped with damp; leaked like a
        sieve; shook whenever anyone coughed""",
        scenes="""we [heard every snore through] @; I [lay awake because of] @; the wind [howled through] @; my wife [stuffed
        socks into] @""",
    ),
    plain=tone(
        states="""painted white; original to the house; listed as historic; of the usual thickness; replaced in 2015; green on
        the outside""",
        deeds="""faced the courtyard; dated from the fifties; had brass fittings; ~<is|are> cleaned every month; ~<is|are>
        closed at ten""",
        scenes="""a man [was painting] @; we [looked at] @; they [were replacing] @; I [touched] @""",
        leads="while they [were painting] @; after @ [had been cleaned]; when we [saw] @",
    ),
)

TRANSPORT = aspects(
    "transport",
    "car park; shuttle bus; hire bikes +; airport transfer; valet parking ~; water taxi",
    "hotel",
    good=tone(
        adjectives="convenient; reliable; handy; efficient; safe; well-run",
        states="""a lifesaver; free and plentiful; on time to the second; easy as pie; well worth using; a real boon""",
        deeds="""saved our aching feet; made getting about a doddle; ran like clockwork; took the stress out of everything;
        spared us a fortune""",
        scenes="""we [were thankful for] @; I [warmly recommend] @; we [swore by] @; my
        father [was tickled by] @""",
    ),
    bad=tone(
        adjectives="inconvenient; unreliable; overpriced; chaotic; tiny; dangerous; shoddy",
        states="""a free-for-all; always full; two hours late; a death trap; an exercise in frustration; a daylight
        robbery""",
        deeds="""left us stranded; cost me a wing mirror; never turned up; made us miss our train; broke down at the first
        hill; drove us to despair""",
        scenes="""we [waited in vain for] @; I [lost my temper over] @; we [had nothing but trouble with] @; my mother [was
        terrified by] @""",
    ),
    plain=tone(
        states="""behind the building; run by another firm; bookable at the desk; marked with a blue sign; round the corner;
        shared with the hotel next door""",
        deeds="""cost four pounds; had to be booked ahead; ran on electricity; ~<is|are> available from eight;
        ~<requires|require> a deposit""",
        scenes="""we [used] @; we [booked] @ by phone; I [asked about] @; my colleague [paid for] @; we [shared] @ with another
        couple""",
        leads="while we [were waiting for] @; after we [had booked] @; before we [used] @",
    ),
)

EXTRAS = aspects(
    "extras",
    "minibar; toiletries +; welcome basket; guidebooks +; board games +; fruit bowl; snack trolley",
    "hotel",
    good=tone(
        adjectives="generous; thoughtful; lovely; delightful; well-stocked; charming",
        states="""a sweet touch; full of treats; a lovely surprise; chosen with care; better than my birthday presents""",
        deeds="""made us feel spoiled; delighted the children; put us in a holiday mood; kept us amused for hours; showed real
        thought""",
        scenes="""we [were touched by] @; I [gleefully raided] @; my niece [was overjoyed with] @; we [were spoiled with] @""",
    ),
    bad=tone(
        adjectives="overpriced; meagre; shabby; tacky; pathetic; paltry",
        states="""two years past the date; empty apart from a dead fly; a bad joke with a ribbon on; locked, with no key to be
        found; incomplete and torn; priced for bankers""",
        deeds="""smelled of bleach; fell apart at once; brought me out in spots; had been picked over by others; offered
        nothing anyone would want""",
        scenes="""we [were stung by] @; I [binned] @; we [felt insulted by] @; my wife [snorted at] @""",
    ),
    plain=tone(
        states="""on the chest of drawers; labelled in German; refilled at noon; stored in a cupboard; listed on a card; next
        to the wardrobe""",
        deeds="""came in a wicker box; stood by the window; had a price list; ~<is|are> included in the rate; ~<is|are> restocked
        on Mondays; ~<comes|come> from a local supplier""",
        scenes="""we [found] @ on arrival; I [looked through] @; we [opened] @; my son [took stock of] @""",
        leads="while we [were looking through] @; after we [had found] @; when @ [<was|were> topped up]",
    ),
)

TOILETS = aspects(
    "toilets",
    "toilets +; washrooms +; cloakroom; restroom",
    "restaurant",
    good=tone(
        adjectives="spotless; clean; immaculate; fragrant; gleaming; well-kept",
        states="""clean enough for surgery; nicer than my flat; a pleasant surprise; stocked with lovely soap; worthy of a
        palace""",
        deeds="""smelled of lemons; shone like a new pin; passed my mother's inspection; put most hotels to shame""",
        scenes="""we [were astonished by the cleanliness of] @; I [took admiring pictures of] @; my aunt [gave her blessing to]
        @""",
    ),
    bad=tone(
        adjectives="filthy; smelly; grimy; disgusting; flooded; neglected",
        states="""out of paper; awash; not fit for animals; blocked; a biological experiment; short of soap, locks and
        hope""",
        deeds="""stank to high heaven; turned my stomach; had no working lock; overflowed; should have been condemned""",
        scenes="""we [held our breath in] @; I [fled from] @; my wife [refused to set foot in] @""",
    ),
    plain=tone(
        states="""down the stairs; at the back; marked with a hat; behind the bar; tiled in black; on the second floor""",
        deeds="""had a blue door; had two mirrors; came after a long corridor; ~<is|are> shared with the bakery next
        door; ~<is|are> on the left as you come in""",
        scenes="""we [asked for] @; I [went to find] @; somebody [showed me] @; they [pointed us to] @""",
        leads="[on the way to] @; while I [was looking for] @; after I [had found] @",
    ),
)

CHILDREN = aspects(
    "children",
    "playground; high chairs +; kids' club; play corner; petting zoo",
    "restaurant hotel",
    good=tone(
        adjectives="safe; colourful; imaginative; well-kept; fun; delightful",
        states="""a godsend for parents; heaven for small people; the hit of the holiday; sturdy and clean; everything our
        boys could wish for""",
        deeds="""bought us two hours of peace; made our toddler shriek with joy; won the hearts of our girls; wore the twins
        out nicely""",
        scenes="""our daughter [had to be carried away from] @; we [were impressed by] @; the little ones [adored] @; our sons
        [gave ten out of ten to] @""",
    ),
    bad=tone(
        adjectives="dangerous; rusty; dirty; boring; broken; neglected; unsafe",
        states="""full of splinters; sticky with old jam; an accident waiting to happen; a muddy patch with ideas; missing
        half of <its|their> bolts""",
        deeds="""reduced our son to tears; left a nail in my shoe; bored the twins within a minute; smelled of sour milk;
        should be closed by law""",
        scenes="""our daughter [was hurt by] @; we [kept the children well away from] @; our boys [were scared of] @""",
    ),
    plain=tone(
        states="""next to the kitchen garden; meant for ages three to eight; made of wood; supplied on request; behind a low
        fence; painted red""",
        deeds="""stood by the hedge; came from Denmark; opened at ten; ~<is|are> free for guests; ~<is|are> closed on
        Mondays""",
        scenes="""we [asked for] @; we [walked past] @; our nephew [tried] @; my wife [found] @ on the map""",
        leads="while our children [were busy with] @; after we [had seen] @; when we [asked about] @",
    ),
)

HOUSE = (
    BED
    + LINEN
    + ROOM
    + WASH
    + LEISURE
    + GADGET
    + CLIMATE
    + OUTDOORS
    + INDOORS
    + MOOD
    + SEATING
    + TABLEWARE
    + VIEW
    + PLACE
    + QUIET
    + TRANSPORT
    + EXTRAS
    + TOILETS
    + CHILDREN
)
