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
        states="""cooked to the minute; done to perfection; worth crossing town for; seasoned with
        real care""",
        deeds="""melted in the mouth; fell apart at the touch of a fork; vanished from our plates in
        seconds; deserved a round of applause""",
        scenes="""we [fought over the last bite of] @; my wife [is still dreaming about] @; we [could
        not get enough of] @""",
    ),
    bad=tone(
        adjectives="tough; dry; greasy; bland; leathery; stringy",
        states="""burnt on one side and raw on the other; cold in the middle; drowned in salt;
        swimming in grease""",
        deeds="""put up more of a fight than we did; tasted of the freezer; arrived stone cold;
        tasted of old frying oil""",
        scenes="we [left most of] @; we [sent back] @; I [chewed in vain on] @",
    ),
    plain=tone(
        states="""served with a wedge of lemon; cooked over charcoal; on the specials board; listed as
        a main course""",
        deeds="""came with boiled potatoes; arrived on a wooden board; followed the soup; came with a
        choice of two sauces; ~<comes|come> in two sizes""",
        scenes="we [ordered] @; my brother [chose] @; I [had] @; the table next to us [ordered] @",
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
        states="""a hug in a bowl; balanced to the last grain of pepper; the stuff of dreams; rich
        without being heavy""",
        deeds="""warmed us to our toes; tasted as if someone's grandmother had made <it|them>; had us
        mopping the bowl with bread; brought a tear to my father's eye""",
        scenes="""we [scraped up every drop of] @; I [begged for the recipe for] @; the children
        [asked for seconds of] @""",
    ),
    bad=tone(
        adjectives="gluey; watery; bland; stodgy; tepid; insipid",
        states="""salty enough to float an egg; cold by the time we got forks; short of any flavour at
        all; straight out of a packet""",
        deeds="""tasted of the tin; set like cement; had been microwaved into submission; sat on our
        stomachs like a brick""",
        scenes="we [pushed away] @; I [poked sadly at] @; my sister [found a hair in] @",
    ),
    plain=tone(
        states="served in a clay pot; topped with parsley; made with chickpeas; on the set menu",
        deeds="""came in a blue bowl; arrived with a slice of lemon; came before the salad;
        <was|were> ladled out at the table; ~<is|are> available in a small or a large size""",
        scenes="we [ordered] @; my aunt [chose] @; we [tried] @; half the group [went for] @",
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
        states="""a dream on a fork; sweet but never too sweet; worth breaking any diet for; as light
        as a cloud""",
        deeds="""made grown men giggle; tasted like a childhood summer; left the whole table sighing;
        disappeared at record speed""",
        scenes="""we [ordered a second round of] @; I [nearly proposed to] @; my niece [licked the
        plate clean of] @""",
    ),
    bad=tone(
        adjectives="cloying; stale; claggy; soggy; sickly; synthetic",
        states="""sweet enough to dissolve a tooth; still frozen inside; as dry as a sponge left in
        the sun; from a supermarket box""",
        deeds="""tasted of washing-up liquid; bent the spoon; crumbled into dust; arrived half melted""",
        scenes="""my mother [could not swallow] @; I [regretted] @; the children, of all people,
        [refused] @""",
    ),
    plain=tone(
        states="""served with a scoop of vanilla; listed under puddings; dusted with icing sugar; cut
        into eight""",
        deeds="""came on a slate; arrived with two spoons; came with cream or custard; followed at
        the end; ~<costs|cost> six pounds""",
        scenes="my cousin [picked] @; I [had] @; we [finished with] @; the birthday boy [chose] @",
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
        states="""a meal in <itself|themselves>; dressed with a light hand; the dark horse of the
        meal; better than <it|they> had any right to be""",
        deeds="""crackled with every bite; outshone everything else on the plate; called for a second helping; tasted of the garden""",
        scenes="we [devoured] @; we [were hooked on] @; I [could live on] @",
    ),
    bad=tone(
        adjectives="limp; stale; oily; soggy; tasteless; tired",
        states="""drenched in vinegar; as limp as a handshake from a ghost; cold and forgotten; older
        than my father's jokes""",
        deeds="""tasted of last week; dripped with oil; squeaked when bitten; looked as unhappy as we
        felt""",
        scenes="""we [picked listlessly at] @; I [lost a filling to] @; even the sparrows [turned
        down] @""",
    ),
    plain=tone(
        states="""served in a tin mug; placed in the middle; listed as a side dish; seasoned with
        rosemary""",
        deeds="""came in a small basket; arrived with the mains; came with a dip; ~<costs|cost> three
        pounds extra; ~<comes|come> with every main course""",
        scenes="""we [shared] @; my neighbour [swapped his rice for] @; we [added] @ to the order; I
        [had] @ on the side""",
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
        states="""strong enough to wake a bear; made with love; hot, rich and generous; as good as in
        Trieste""",
        deeds="""brought us back to life; put the world to rights; smelled divine; could raise the
        dead in the nicest way""",
        scenes="""I [am still savouring] @; we [lingered happily over] @; my father, a snob, [praised]
        @""",
    ),
    bad=tone(
        adjectives="weak; bitter; lukewarm; watery; acrid; undrinkable",
        states="the colour of a puddle; cold on arrival; stewed to tar; closer to dishwater",
        deeds="""tasted of burnt rubber; had a skin on top; went cold while the milk was being found;
        tasted of the pot""",
        scenes="I [secretly tipped away] @; we [grimaced over] @; my wife [spat out] @",
    ),
    plain=tone(
        states="""served in a glass; poured from a flask; set out on a trolley; included in the price""",
        deeds="""came with a biscuit; arrived on a tray; came with milk on the side; ~<comes|come> in
        three sizes; ~<costs|cost> two pounds fifty""",
        scenes="""I [asked for] @; my friend [ordered] @; we [had] @ afterwards; we [took] @ upstairs""",
        leads="when @ [came]; while I [was stirring] @",
    ),
)

COLD_DRINK = aspects(
    "cold drink",
    "house wine ~; cocktails +; cider ~; lemonade ~",
    "restaurant",
    good=tone(
        adjectives="refreshing; crisp; zesty; well-balanced; delicious; lively",
        states="""cold, bright and delightful; mixed by a wizard; the taste of July; a holiday in a glass""",
        deeds="went down like a dream; made everyone merry; danced on the palate; hit the spot",
        scenes="""we [toasted each other happily with] @; I [happily surrendered to] @; we [sang the
        praises of] @""",
    ),
    bad=tone(
        adjectives="flat; sour; warm; watery; sickly; syrupy",
        states="all ice and no joy; warm as bathwater; on the edge of vinegar; drowned in syrup",
        deeds="""tasted of cough medicine; gave us all a headache; fizzled out before the first sip;
        stripped the enamel from my teeth""",
        scenes="we [winced at] @; we [paid through the nose for] @; we [gave the plants most of] @",
    ),
    plain=tone(
        states="served over ice; sold by the jug; on tap; poured at the table",
        deeds="""came in a tall glass; arrived with a paper straw; came with a slice of orange;
        ~<is|are> also available without ice; ~<costs|cost> five pounds""",
        scenes="we [ordered] @; my mother [had] @; I [stuck to] @; the others [drank] @",
        leads="when @ [arrived]; while we [were sipping] @",
    ),
)

MENU = aspects(
    "menu",
    "menu; wine list; tasting menu",
    "restaurant",
    good=tone(
        adjectives="varied; imaginative; inventive; well-chosen; tempting; exciting",
        states="""a pleasure to read; full of good ideas; a love letter to the region; short and
        clever""",
        deeds="""offered something for everyone; made our mouths water; catered beautifully for my
        allergies; surprised us at every turn""",
        scenes="""we [could have ordered everything on] @; we [pored with delight over] @; my vegan
        cousin [beamed at] @""",
    ),
    bad=tone(
        adjectives="unimaginative; confusing; limited; muddled; predictable; uninspired",
        states="""half crossed out; longer than a phone book and just as tasty; riddled with
        misprints; stuck in the seventies""",
        deeds="""offered next to nothing without meat; promised things the kitchen did not have; made
        no sense to anyone; put us to sleep""",
        scenes="we [could find nothing to like on] @; we [yawned over] @; my aunt [despaired of] @",
    ),
    plain=tone(
        states="printed on brown paper; in French and English; chalked on a board; four pages long",
        deeds="""listed nine dishes; came with the drinks; ran to two pages; ~<changes|change> every
        Thursday; ~<is|are> also posted in the window""",
        scenes="""we [ordered from] @; each of us [was given] @; we [were handed] @ at the door; we
        [read] @ first""",
        leads="while we [were reading] @; after we [had looked through] @",
    ),
)

BREAKFAST = aspects(
    "breakfast",
    "breakfast; breakfast buffet; brunch",
    "hotel",
    good=tone(
        adjectives="plentiful; fresh; tasty; lavish; delicious; wholesome",
        states="""fit for a king; worth setting an alarm for; a cheerful riot of good things; cooked
        to order with a smile""",
        deeds="""kept us going until supper; made early rising a pleasure; had us loosening our
        belts; offered every good thing under the sun""",
        scenes="""we [went back three times for] @; I [got up early, smiling, for] @; the children
        [cheered for] @""",
    ),
    bad=tone(
        adjectives="meagre; stale; lukewarm; dismal; joyless; greasy",
        states="""picked clean by the time we got down; cold, grey and sad; a crime against eggs;
        mostly made of cardboard""",
        deeds="""ran out before we reached <it|them>; tasted of the tray <it|they> came on; made us
        long for a petrol station; left a film on the spoon""",
        scenes="""even the gulls [ignored] @; we [fled to a bakery from] @; [nobody in our party could
        face] @""",
    ),
    plain=tone(
        states="""served in the conservatory; included in the rate; set out on a long counter; brought
        upstairs on request""",
        deeds="""came with toast and jam; came with a boiled egg; started at half past seven;
        ~<is|are> served until ten; ~<costs|cost> twelve pounds extra""",
        scenes="""we [paid separately for] @; we [had] @ at eight; we [booked] @ for two; I [took] @
        with me""",
        leads="while we [were having] @; after @ [had been served]",
    ),
)

FOOD = GRILL + BOWL + SWEET + SIDE + HOT_DRINK + COLD_DRINK + MENU + BREAKFAST
