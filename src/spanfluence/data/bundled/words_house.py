"""What a house is made of: rooms, beds, pools, gadgets, views. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

BED = aspects(
    "bed",
    "mattress; pillows +; bed; duvet",
    "hotel",
    determiners="the; the; our",
    good=tone(
        adjectives="comfortable; soft; supportive; luxurious; cosy; inviting",
        states="like sleeping on a cloud; kind to my bad back; hard to leave in the morning",
        deeds="sent us off like babies; healed my back; swallowed us up in the loveliest way",
        scenes="we [sank blissfully into] @; I [wanted to smuggle home] @",
    ),
    bad=tone(
        adjectives="lumpy; saggy; hard; musty; creaky; scratchy",
        states="as flat as a pancake; stuffed with gravel, apparently; a torture device",
        deeds="sagged like a hammock; groaned at every breath; gave me a stiff neck",
        scenes="I [ached for days because of] @; we [fled to the floor from] @",
    ),
    plain=tone(
        states="by the window; made up with white linen; against the far wall",
        deeds="""came with a spare blanket; stood under the eaves; had a blue cover; ~<is|are>
        replaced every five years""",
        scenes="we [put our coats on] @; the children [shared] @; my sister [took] @ by the door",
        leads="while we [were making up] @; after we [had turned down] @",
    ),
)

LINEN = aspects(
    "linen",
    "towels +; sheets +; bathrobes +",
    "hotel",
    good=tone(
        adjectives="fluffy; soft; crisp; spotless; snowy; luxurious",
        states="as soft as a kitten; fresh every morning; thick, warm and endless",
        deeds="smelled of fresh air; felt like a hug; made us feel like royalty",
        scenes="we [snuggled happily into] @; I [was tempted to steal] @",
    ),
    bad=tone(
        adjectives="threadbare; grubby; scratchy; damp; stained; frayed",
        states="as rough as sandpaper; grey with age; still wet from the last guest",
        deeds="smelled of mildew; shed fluff on everything; took off a layer of skin",
        scenes="we [recoiled from] @; I [refused to touch] @",
    ),
    plain=tone(
        states="folded on a chair; kept in the cupboard; striped",
        deeds="""came in two colours; hung behind the door; were handed out at the desk; ~are changed
        on Wednesdays""",
        scenes="we [used] @; I [asked for] @; we [found] @ in the wardrobe",
        leads="while we [were folding] @; after @ [had been delivered]",
    ),
)

ROOM = aspects(
    "room",
    "room; suite; attic room; cabin",
    "hotel",
    determiners="the; our; our",
    good=tone(
        adjectives="spacious; bright; spotless; airy; cosy; charming",
        states="so clean you could eat off the floor; full of light; warm, dry and welcoming",
        deeds="""sparkled from floor to ceiling; felt like home within minutes; had everything we
        could want""",
        scenes="we [hated to leave] @; I [would move for good into] @",
    ),
    bad=tone(
        adjectives="cramped; dingy; grubby; musty; stuffy; filthy",
        states="no bigger than a wardrobe; thick with dust; speckled with mould",
        deeds="reeked of cigarettes; had not seen a mop in months; gave me the creeps",
        scenes="we [begged to be moved out of] @; I [shuddered at] @",
    ),
    plain=tone(
        states="on the third floor; at the end of the corridor; painted white",
        deeds="had two windows; came with a small desk; looked onto the yard; ~<sleeps|sleep> four",
        scenes="we [checked into] @; we [left our bags in] @; we [were given the key to] @",
        leads="when we [walked into] @; while we [were unpacking in] @",
    ),
)

WASH = aspects(
    "wash",
    "shower; bathtub; hot tub",
    "hotel",
    good=tone(
        adjectives="spotless; powerful; luxurious; relaxing; sparkling; splendid",
        states="""hot in seconds; big enough for a small orchestra; a blessing after a day on the
        hills""",
        deeds="washed all our troubles away; ran hot for as long as we liked; eased every muscle",
        scenes="I [spent a blissful hour in] @; we [took turns to sing in] @",
    ),
    bad=tone(
        adjectives="leaky; mouldy; scummy; grimy; slimy; rusty",
        states="either scalding or freezing; blocked with hair; a weak dribble",
        deeds="flooded the floor; dripped all night; scalded my elbow",
        scenes="we [queued shivering for] @; I [yelped in] @",
    ),
    plain=tone(
        states="behind a glass door; tiled in green; on the left",
        deeds="had two taps; stood in the corner; came with a stool; ~<has|have> a timer",
        scenes="I [tried] @; we [used] @ in turns; we [found] @ behind a curtain",
        leads="before I [turned on] @; after we [had used] @",
    ),
)

LEISURE = aspects(
    "leisure",
    "pool; gym; sauna; spa",
    "hotel",
    good=tone(
        adjectives="clean; relaxing; spacious; well-kept; inviting; splendid",
        states="""a dream for swimmers and loafers alike; worth the stay alone; deserted and glorious""",
        deeds="""kept the children happy for hours; left us wonderfully limp; had all we needed and
        more""",
        scenes="we [had a whale of a time in] @; I [could have spent a week in] @",
    ),
    bad=tone(
        adjectives="dirty; overcrowded; neglected; smelly; freezing; grimy",
        states="the size of a bath mat; green with algae; full of shrieking stag parties",
        deeds="stank of chlorine; closed just as we arrived; looked abandoned",
        scenes="we [lasted two minutes in] @; I [caught a cold in] @",
    ),
    plain=tone(
        states="on the lower level; open to members of the public; reached by a footbridge",
        deeds="""opened at nine; lay behind the main building; had a wooden bench; ~<closes|close> at
        eight""",
        scenes="we [walked past] @; we [went to] @; I [had a key to] @",
        leads="while we [were at] @; after we [had been to] @",
    ),
)

GADGET = aspects(
    "gadget",
    "wifi ~; television; key card; lift",
    "hotel",
    good=tone(
        adjectives="reliable; fast; modern; handy; user-friendly; efficient",
        states="a godsend; easy enough for my grandmother; quick as lightning",
        deeds="worked like a charm; never let us down; saved our bacon",
        scenes="we [were grateful for] @; I [blessed] @",
    ),
    bad=tone(
        adjectives="unreliable; slow; temperamental; useless; ancient; faulty",
        states="broken on arrival; dead as a dodo; slower than a carrier pigeon",
        deeds="gave up every ten minutes; refused to work; died on us",
        scenes="we [battled with] @; I [cursed] @",
    ),
    plain=tone(
        states="in the corner; explained in a leaflet; next to the door",
        deeds="""came with a manual; had a green light; had a blue sticker; ~<is|are> included in the
        price""",
        scenes="I [tried] @; we [used] @ twice; we [asked about] @ at the desk",
        leads="before we [used] @; while I [was looking at] @",
    ),
)

CLIMATE = aspects(
    "climate",
    "air conditioning ~; heating ~; radiator",
    "hotel restaurant",
    good=tone(
        adjectives="effective; quiet; efficient; welcome; pleasant; reliable",
        states="a blessing; as quiet as a mouse; just right",
        deeds="kept us perfectly comfortable; worked like a dream; purred like a cat",
        scenes="we [thanked the heavens for] @; we [were so glad of] @",
    ),
    bad=tone(
        adjectives="noisy; feeble; erratic; broken; useless; deafening",
        states="stuck on arctic; as loud as a tractor; out of action",
        deeds="rattled like a skeleton; dripped on my head; roasted us alive",
        scenes="we [shivered because of] @; I [got a sore throat from] @",
    ),
    plain=tone(
        states="near the window; set to nineteen degrees; operated with a switch",
        deeds="had three settings; came on at six; ran on gas; ~<is|are> switched off in April",
        scenes="we [sat near] @; we [asked about] @; my aunt [adjusted] @",
        leads="while @ [was running]; after I [had adjusted] @",
    ),
)

OUTDOORS = aspects(
    "outdoors",
    "terrace; garden; courtyard; balcony",
    "restaurant hotel",
    good=tone(
        adjectives="lovely; charming; peaceful; leafy; romantic; enchanting",
        states="a little paradise; full of roses and bees; made for long evenings",
        deeds="took our breath away; smelled of jasmine; could have been in a fairy tale",
        scenes="we [could have stared forever at] @; we [whiled away happy hours enjoying] @",
    ),
    bad=tone(
        adjectives="shabby; noisy; dirty; neglected; weedy; bleak",
        states="ruled by wasps; full of cigarette ends; a glorified car park",
        deeds="stank of the bins; wobbled underfoot; looked out on a skip",
        scenes="we [were driven indoors from] @; I [sneezed my way across] @",
    ),
    plain=tone(
        states="round the back; paved with brick; next to the annexe",
        deeds="had six tables; faced the river; lay behind a hedge; ~<seats|seat> forty",
        scenes="we [walked through] @; we [were shown] @; my uncle [photographed] @",
        leads="while we [were crossing] @; after we [had seen] @",
    ),
)

INDOORS = aspects(
    "indoors",
    "dining room; lobby; lounge; library",
    "restaurant hotel",
    good=tone(
        adjectives="elegant; cosy; charming; welcoming; stylish; bright",
        states="straight out of a costume drama; warm with candlelight; full of character",
        deeds="oozed charm; made us feel at home; glowed like a lantern",
        scenes="we [were enchanted by] @; we [could have lingered forever in] @",
    ),
    bad=tone(
        adjectives="gloomy; shabby; draughty; cramped; noisy; soulless",
        states="as cosy as a bus station; crammed to the rafters; dark as a cave",
        deeds="""smelled of wet carpet; echoed like a swimming bath; had all the charm of a waiting
        room""",
        scenes="we [could not wait to get out of] @; we [huddled in our coats in] @",
    ),
    plain=tone(
        states="on the ground floor; to the left of the stairs; painted green",
        deeds="had a piano; had a tiled floor; looked onto the street; ~<holds|hold> sixty people",
        scenes="we [waited in] @; we [were seated in] @; we [met our friends in] @",
        leads="while we [were sitting in] @; as we [walked through] @",
    ),
)

SEATING = aspects(
    "seating",
    "chairs +; booth; bar stools +",
    "restaurant hotel",
    good=tone(
        adjectives="comfortable; cosy; roomy; sturdy; elegant; inviting",
        states="kind to old bones; hard to get up from; perfect for a long chat",
        deeds="held us in comfort for hours; welcomed tired legs; gave us all the space we wanted",
        scenes="we [lounged contentedly at] @; I [was reluctant to give up] @",
    ),
    bad=tone(
        adjectives="wobbly; sticky; rickety; hard; uncomfortable; filthy",
        states="built for toddlers; covered in crumbs; about to collapse",
        deeds="gave my father backache; rocked like a boat; snagged my best dress",
        scenes="we [were stuck for hours with] @; I [slid off] @",
    ),
    plain=tone(
        states="made of oak; near the window; from the thirties",
        deeds="""stood near the door; came from an old church; had a brass number; ~<is|are> made by
        a local joiner""",
        scenes="we [were pointed to] @; I [put my hat on] @; a man [was repairing] @",
        leads="while we [were choosing] @; after we [had moved] @",
    ),
)

VIEW = aspects(
    "view",
    "view; sea view",
    "hotel restaurant",
    good=tone(
        adjectives="stunning; breathtaking; magnificent; glorious; spectacular; gorgeous",
        states="worth every stair; enough to make you gasp; like a postcard",
        deeds="left us speechless; took my breath away; stopped us in our tracks",
        scenes="we [never tired of] @; I [could have gazed forever at] @",
    ),
    bad=tone(
        adjectives="dismal; bleak; ugly; grim; miserable; dreary",
        states="nothing but a brick wall; of bins and more bins; blocked by scaffolding",
        deeds="took in a scrapyard; ended at a concrete wall; made us draw the curtains",
        scenes="we [felt cheated by] @; I [paid extra in vain for] @",
    ),
    plain=tone(
        states="to the south; over the car park and the church; towards the station",
        deeds="""took in the old bridge; faced east; included the lighthouse; ~<costs|cost> ten
        pounds extra""",
        scenes="we [photographed] @; my brother [painted] @; we [compared] @ with the map",
        leads="while we [were looking at] @; after I [had photographed] @",
    ),
)

PLACE = aspects(
    "place",
    "location; neighbourhood; street",
    "hotel restaurant",
    good=tone(
        adjectives="convenient; central; lively; charming; picturesque; safe",
        states="ideal for exploring on foot; a stone's throw from everything; perfect for families",
        deeds="saved us a fortune in taxis; suited us down to the ground; ticked every box",
        scenes="we [quickly grew fond of] @; I [was delighted by] @",
    ),
    bad=tone(
        adjectives="inconvenient; remote; rough; noisy; seedy; dangerous",
        states="miles from anything; under a flight path; next door to a fish factory",
        deeds="gave us the jitters; cost us an hour in traffic; shook with passing trains",
        scenes="we [grew to dread] @; I [never felt safe in] @",
    ),
    plain=tone(
        states="between the station and the park; on the map in the lobby; north of the river",
        deeds="""lay behind the station; took ten minutes to reach on foot; had a chemist and a bank;
        ~<is|are> described on the website""",
        scenes="we [asked about] @; we [looked up] @ on the map; my cousin [knew] @ already",
        leads="while we [were looking for] @; after we [had found] @",
    ),
)

QUIET = aspects(
    "quiet",
    "walls +; windows +; shutters +",
    "hotel",
    good=tone(
        adjectives="solid; sturdy; thick; effective; well-made",
        states="thick enough for a castle; proof against any racket; a shield against the world",
        deeds="kept the noise out beautifully; gave us perfect peace; blocked out every sound",
        scenes="we [slept soundly thanks to] @; I [was thankful for] @",
    ),
    bad=tone(
        adjectives="flimsy; thin; mouldy; leaky; rattly; useless",
        states="made of paper; no match for a whisper; black with mildew",
        deeds="let in every sneeze from next door; rattled all night; whistled in the wind",
        scenes="we [heard every snore through] @; I [lay awake because of] @",
    ),
    plain=tone(
        states="painted white; original to the house; listed as historic",
        deeds="""faced the courtyard; dated from the fifties; had brass fittings; ~<is|are> cleaned
        every month""",
        scenes="a man [was painting] @; we [looked at] @; they [were replacing] @",
        leads="while they [were painting] @; after @ [had been cleaned]",
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
    + SEATING
    + VIEW
    + PLACE
    + QUIET
)
