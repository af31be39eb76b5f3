"""What a table can hold: dishes, drinks, menus, breakfasts. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

GRILL = aspects(
    "grill",
    "lamb shank; steak; duck ~; trout ~; pork belly ~; octopus ~",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="tender; juicy; succulent; flavourful; delicious; mouth-watering",
        states="cooked to the minute; done to perfection; worth crossing town for",
        deeds="""melted in the mouth; fell apart at the touch of a fork; vanished from our plates in
        seconds""",
        scenes="we [fought over the last bite of] @; my wife [is still dreaming about] @",
    ),
    bad=tone(
        adjectives="tough; dry; greasy; bland; leathery; stringy",
        states="burnt on one side and raw on the other; cold in the middle; drowned in salt",
        deeds="put up more of a fight than we did; tasted of the freezer; arrived stone cold",
        scenes="we [left most of] @; we [sent back] @",
    ),
    plain=tone(
        states="served with a wedge of lemon; cooked over charcoal; on the specials board",
        deeds="""came with boiled potatoes; arrived on a wooden board; followed the soup; came with a
        choice of two sauces""",
        scenes="we [ordered] @; my brother [chose] @; I [had] @",
        leads="when @ [arrived]; while we [were waiting for] @",
    ),
)

BOWL = aspects(
    "bowl",
    "risotto; ramen ~; fish pie; gnocchi +; dumplings +; lasagne ~",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="fragrant; comforting; hearty; flavourful; delicious; satisfying",
        states="a hug in a bowl; balanced to the last grain of pepper; the stuff of dreams",
        deeds="""warmed us to our toes; tasted as if someone's grandmother had made <it|them>; had us
        mopping the bowl with bread""",
        scenes="we [scraped up every drop of] @; I [begged for the recipe for] @",
    ),
    bad=tone(
        adjectives="gluey; watery; bland; stodgy; tepid; insipid",
        states="""salty enough to float an egg; cold by the time we got forks; short of any flavour at
        all""",
        deeds="tasted of the tin; set like cement; had been microwaved into submission",
        scenes="we [pushed away] @; I [poked sadly at] @",
    ),
    plain=tone(
        states="served in a clay pot; topped with parsley; made with chickpeas",
        deeds="""came in a blue bowl; arrived with a slice of lemon; came before the salad;
        <was|were> ladled out at the table""",
        scenes="we [ordered] @; my aunt [chose] @; we [tried] @",
        leads="when @ [arrived]; while we [were eating] @",
    ),
)

SWEET = aspects(
    "sweet",
    "cheesecake; tiramisu ~; apple tart; sorbet ~; pancakes +",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="light; heavenly; luscious; moreish; irresistible; divine",
        states="a dream on a fork; sweet but never too sweet; worth breaking any diet for",
        deeds="made grown men giggle; tasted like a childhood summer; left the whole table sighing",
        scenes="we [ordered a second round of] @; I [nearly proposed to] @",
    ),
    bad=tone(
        adjectives="cloying; stale; claggy; soggy; sickly; synthetic",
        states="""sweet enough to dissolve a tooth; still frozen inside; as dry as a sponge left in
        the sun""",
        deeds="tasted of washing-up liquid; bent the spoon; crumbled into dust",
        scenes="my mother [could not swallow] @; I [regretted] @",
    ),
    plain=tone(
        states="served with a scoop of vanilla; listed under puddings; dusted with icing sugar",
        deeds="""came on a slate; arrived with two spoons; came with cream or custard; followed at
        the end""",
        scenes="my cousin [picked] @; I [had] @; we [finished with] @",
        leads="when @ [arrived]; while we [shared] @",
    ),
)

SIDE = aspects(
    "side",
    "chips +; salad; olives +; garlic bread ~",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="fresh; moreish; tasty; addictive; delicious; appetising",
        states="""a meal in <itself|themselves>; dressed with a light hand; the dark horse of the meal""",
        deeds="""crackled with every bite; outshone everything else on the plate; called for a second
        helping""",
        scenes="we [devoured] @; we [were hooked on] @",
    ),
    bad=tone(
        adjectives="limp; stale; oily; soggy; tasteless; tired",
        states="drenched in vinegar; as limp as a handshake from a ghost; cold and forgotten",
        deeds="tasted of last week; dripped with oil; squeaked when bitten",
        scenes="we [picked listlessly at] @; I [lost a filling to] @",
    ),
    plain=tone(
        states="served in a tin mug; placed in the middle; listed as a side dish",
        deeds="""came in a small basket; arrived with the mains; came with a dip; ~<costs|cost> three
        pounds extra""",
        scenes="we [shared] @; my neighbour [swapped his rice for] @; we [added] @ to the order",
        leads="when @ [came]; while we [were passing round] @",
    ),
)

HOT_DRINK = aspects(
    "hot drink",
    "coffee ~; tea ~; hot chocolate ~",
    "restaurant hotel",
    determiners="the; the; their",
    good=tone(
        adjectives="aromatic; velvety; warming; smooth; delicious; reviving",
        states="strong enough to wake a bear; made with love; hot, rich and generous",
        deeds="brought us back to life; put the world to rights; smelled divine",
        scenes="I [am still savouring] @; we [lingered happily over] @",
    ),
    bad=tone(
        adjectives="weak; bitter; lukewarm; watery; acrid; undrinkable",
        states="the colour of a puddle; cold on arrival; stewed to tar",
        deeds="tasted of burnt rubber; had a skin on top; went cold while the milk was being found",
        scenes="I [secretly tipped away] @; we [grimaced over] @",
    ),
    plain=tone(
        states="served in a glass; poured from a flask; set out on a trolley",
        deeds="""came with a biscuit; arrived on a tray; came with milk on the side; ~<comes|come> in
        three sizes""",
        scenes="I [asked for] @; my friend [ordered] @; we [had] @ afterwards",
        leads="when @ [came]; while I [was stirring] @",
    ),
)

COLD_DRINK = aspects(
    "cold drink",
    "house wine ~; cocktails +; cider ~; lemonade ~",
    "restaurant",
    good=tone(
        adjectives="refreshing; crisp; zesty; well-balanced; delicious; lively",
        states="cold, bright and delightful; mixed by a wizard; the taste of July",
        deeds="went down like a dream; made everyone merry; danced on the palate",
        scenes="we [toasted each other happily with] @; I [happily surrendered to] @",
    ),
    bad=tone(
        adjectives="flat; sour; warm; watery; sickly; syrupy",
        states="all ice and no joy; warm as bathwater; on the edge of vinegar",
        deeds="tasted of cough medicine; gave us all a headache; fizzled out before the first sip",
        scenes="we [winced at] @; we [paid through the nose for] @",
    ),
    plain=tone(
        states="served over ice; sold by the jug; on tap",
        deeds="""came in a tall glass; arrived with a paper straw; came with a slice of orange;
        ~<is|are> also available without ice""",
        scenes="we [ordered] @; my mother [had] @; I [stuck to] @",
        leads="when @ [arrived]; while we [were sipping] @",
    ),
)

MENU = aspects(
    "menu",
    "menu; wine list; tasting menu",
    "restaurant",
    good=tone(
        adjectives="varied; imaginative; inventive; well-chosen; tempting; exciting",
        states="a pleasure to read; full of good ideas; a love letter to the region",
        deeds="""offered something for everyone; made our mouths water; catered beautifully for my
        allergies""",
        scenes="we [could have ordered everything on] @; we [pored with delight over] @",
    ),
    bad=tone(
        adjectives="unimaginative; confusing; limited; muddled; predictable; uninspired",
        states="""half crossed out; longer than a phone book and just as tasty; riddled with misprints""",
        deeds="""offered next to nothing without meat; promised things the kitchen did not have; made
        no sense to anyone""",
        scenes="we [could find nothing to like on] @; we [yawned over] @",
    ),
    plain=tone(
        states="printed on brown paper; in French and English; chalked on a board",
        deeds="""listed nine dishes; came with the drinks; ran to two pages; ~<changes|change> every
        Thursday""",
        scenes="we [ordered from] @; each of us [was given] @; we [were handed] @ at the door",
        leads="while we [were reading] @; after we [had looked through] @",
    ),
)

BREAKFAST = aspects(
    "breakfast",
    "breakfast; breakfast buffet; brunch",
    "hotel",
    good=tone(
        adjectives="plentiful; fresh; tasty; lavish; delicious; wholesome",
        states="fit for a king; worth setting an alarm for; a cheerful riot of good things",
        deeds="""kept us going until supper; made early rising a pleasure; had us loosening our belts""",
        scenes="we [went back three times for] @; I [got up early, smiling, for] @",
    ),
    bad=tone(
        adjectives="meagre; stale; lukewarm; dismal; joyless; greasy",
        states="picked clean by the time we got down; cold, grey and sad; a crime against eggs",
        deeds="""ran out before we reached <it|them>; tasted of the tray <it|they> came on; made us
        long for a petrol station""",
        scenes="even the gulls [ignored] @; we [fled to a bakery from] @",
    ),
    plain=tone(
        states="served in the conservatory; included in the rate; set out on a long counter",
        deeds="""came with toast and jam; came with a boiled egg; started at half past seven;
        ~<is|are> served until ten""",
        scenes="we [paid separately for] @; we [had] @ at eight; we [booked] @ for two",
        leads="while we [were having] @; after @ [had been served]",
    ),
)

FOOD = GRILL + BOWL + SWEET + SIDE + HOT_DRINK + COLD_DRINK + MENU + BREAKFAST
