"""What a table can hold: dishes, drinks, menus, breakfasts. Plain data; notation in `lexicon`."""

from __future__ import annotations

from spanfluence.data.bundled.lexicon import aspects, tone

GRILL = aspects(
    "grill",
    """lamb shank; steak; duck ~; trout ~; pork belly ~; octopus ~; mussels +; burger;
    roast chicken ~; sea bass ~""",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="tender; juicy; succulent; flavourful; delicious; mouth-watering; tasty",
        states="""cooked to the minute; done to perfection; worth crossing town for;
        seasoned with real care; good enough to silence the table; even better than my
        grandmother's; sublime; a triumph from first bite to last; crisp outside and soft within""",
        deeds="""melted in the mouth; fell apart at the touch of a fork; vanished from our plates in
        seconds; deserved a round of applause; silenced even my talkative uncle; tasted of smoke and
        sunshine; made the vegetarians at our table waver""",
        scenes="""we [fought over the last bite of] @; my wife [is still dreaming about] @; we [could
        not get enough of] @; I [would cross the county again for] @; ~I [defy anyone to fault] @""",
    ),
    bad=tone(
        adjectives="tough; dry; greasy; bland; leathery; stringy; rubbery; overcooked",
        states="""burnt on one side and raw on the other; cold in the middle; drowned in salt;
        swimming in grease; a sorry sight; beyond rescue; about as tender as a doormat; past saving,
        even with ketchup; cooked to the texture of a shoe""",
        deeds="""put up more of a fight than we did; tasted of the freezer; arrived stone cold; tasted
        of old frying oil; could have soled a boot; called for a sharper knife and stronger teeth;
        gave my husband stomach ache""",
        scenes="""we [left most of] @; we [sent back] @; I [chewed in vain on] @; even the teenagers
        [gave up on] @; the dog [would have refused] @""",
    ),
    plain=tone(
        states="""served with a wedge of lemon; cooked over charcoal; on the specials board; listed as
        a main course; carved at the table; dusted with paprika; supplied by a farm nearby""",
        deeds="""came with boiled potatoes; arrived on a wooden board; followed the soup; came with a
        choice of two sauces; ~<comes|come> in two sizes; ~<costs|cost> fourteen pounds;
        ~<is|are> available from noon; ~<contains|contain> garlic""",
        scenes="""we [ordered] @; my brother [chose] @; I [had] @; we [split] @ between three; the
        table next to us [ordered] @; our friends [went for] @; two of us [picked] @""",
        leads="""when @ [arrived]; while we [were waiting for] @; after we [had finished] @; before @
        [came out of the kitchen]""",
    ),
)

BOWL = aspects(
    "bowl",
    """risotto; ramen ~; fish pie; gnocchi +; dumplings +; lasagne ~; curry; goulash ~;
    onion soup ~; chowder ~; paella ~; noodles +""",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="fragrant; comforting; hearty; flavourful; delicious; satisfying; aromatic",
        states="""a hug in a bowl; balanced to the last grain of pepper; the stuff of dreams; rich
        without being heavy; bursting with flavour; fit for a wedding; steaming hot and full of
        herbs; exactly what the doctor ordered; as good as in the old country""",
        deeds="""warmed us to our toes; tasted as if someone's grandmother had made <it|them>; had us
        mopping the bowl with bread; brought a tear to my father's eye; cured my cold; got better
        with every spoonful""",
        scenes="""we [scraped up every drop of] @; I [begged for the recipe for] @; the children
        [asked for seconds of] @; our table [fell silent with happiness over] @""",
    ),
    bad=tone(
        adjectives="gluey; watery; bland; stodgy; tepid; insipid; soggy; tasteless",
        states="""salty enough to float an egg; cold by the time we got forks; short of any flavour at
        all; straight out of a packet; more water than anything else; grey and forlorn; overcooked
        to a paste; fit only for the cat""",
        deeds="""tasted of the tin; set like cement; had been microwaved into submission; sat on our
        stomachs like a brick; reminded us of school dinners; burned on the bottom and wept on
        top""",
        scenes="""we [pushed away] @; I [poked sadly at] @; my sister [found a hair in] @; we [could not manage more than two bites of] @""",
    ),
    plain=tone(
        states="""served in a clay pot; topped with parsley; made with chickpeas; on the set menu;
        vegetarian; sprinkled with sesame; the dish of the day""",
        deeds="""came in a blue bowl; arrived with a slice of lemon; came before the salad; <was|were>
        ladled out at the table; ~<is|are> available in a small or a large size; ~<costs|cost> nine
        pounds; ~<contains|contain> nuts; ~<is|are> on the lunch menu""",
        scenes="""we [ordered] @; my aunt [chose] @; I [had] @ as a starter; we [tried] @; half the
        group [went for] @; the couple beside us [shared] @""",
        leads="""when @ [arrived]; while we [were eating] @; after we [had finished] @; as soon as @
        [had been served]""",
    ),
)

SWEET = aspects(
    "sweet",
    """cheesecake; tiramisu ~; apple tart; sorbet ~; pancakes +; chocolate mousse ~;
    bread pudding ~; doughnuts +; waffles +; lemon meringue ~""",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="light; heavenly; luscious; moreish; irresistible; divine; delicious",
        states="""a dream on a fork; sweet but never too sweet; worth breaking any diet for; as light
        as a cloud; a work of art; the perfect ending; gone before the photo was taken; wickedly
        good""",
        deeds="""made grown men giggle; tasted like a childhood summer; left the whole table
        sighing; disappeared at record speed; could end wars; justified the extra belt hole""",
        scenes="""we [ordered a second round of] @; I [nearly proposed to] @; my niece [licked the plate
        clean of] @; we [were all smitten with] @""",
    ),
    bad=tone(
        adjectives="cloying; stale; claggy; soggy; sickly; synthetic; floury; tasteless",
        states="""sweet enough to dissolve a tooth; still frozen inside; as dry as a sponge left in
        the sun; from a supermarket box; collapsed and weeping; hard enough to bend a spoon; an
        insult to sugar; stuck to the plate""",
        deeds="""tasted of washing-up liquid; bent the spoon; crumbled into dust; arrived half melted;
        tasted of fridge; had the charm of wet cardboard""",
        scenes="""we [abandoned] @ after a bite; my mother [could not swallow] @; I [regretted] @; the
        children, of all people, [refused] @""",
    ),
    plain=tone(
        states="""served with a scoop of vanilla; listed under puddings; dusted with icing sugar; cut
        into eight; the only pudding left on the card; made without flour; on the counter""",
        deeds="""came on a slate; arrived with two spoons; came with cream or custard; followed at the
        end; ~<costs|cost> six pounds; ~<comes|come> with a choice of toppings; ~<is|are> made with
        almonds""",
        scenes="""we [ordered] @ to share; my cousin [picked] @; I [had] @; we [finished with] @; the
        birthday boy [chose] @; everyone else [had] @""",
        leads="""when @ [arrived]; while we [shared] @; after we [had ordered] @; before we [got to]
        @""",
    ),
)

SIDE = aspects(
    "side",
    """chips +; salad; olives +; garlic bread ~; bread rolls +; coleslaw ~; pickles +;
    roast potatoes +; flatbread ~""",
    "restaurant",
    determiners="the; the; their",
    good=tone(
        adjectives="fresh; moreish; tasty; addictive; delicious; appetising; wholesome",
        states="""a meal in <itself|themselves>; dressed with a light hand; the dark horse of the
        meal; better than <it|they> had any right to be; hard to stop nibbling; as fresh as a market
        stall; on another level""",
        deeds="""crackled with every bite; outshone everything else on the plate; never stood a chance
        with us; tasted of the garden; turned my son into a vegetable eater; kept us coming back for
        one more""",
        scenes="""we [devoured] @; we [nearly came to blows over] @; I [could live on] @; my uncle
        [stuffed his pockets with] @""",
    ),
    bad=tone(
        adjectives="limp; stale; oily; soggy; tasteless; tired; sorry-looking; withered",
        states="""drenched in vinegar; as limp as a handshake from a ghost; cold and forgotten; older
        than my father's jokes; brown at the edges; a mean little heap; hard enough to throw; more
        salt than food""",
        deeds="""tasted of last week; dripped with oil; squeaked when bitten; looked as unhappy as we
        felt; came out half frozen; smelled of drains""",
        scenes="""we [picked listlessly at] @; [nobody touched] @ after the first bite; I [lost a filling
        to] @; even the sparrows [turned down] @""",
    ),
    plain=tone(
        states="""served in a tin mug; placed in the middle; listed as a side dish; seasoned with
        rosemary; brought with the mains; wrapped in paper""",
        deeds="""came in a small basket; arrived with the mains; came with a dip; ~<costs|cost> three
        pounds extra; ~<comes|come> with every main course; ~<is|are> listed on the back of the
        card; ~<feeds|feed> two""",
        scenes="""we [added] @ to the order; I [had] @ on the side; we [shared] @; my neighbour
        [swapped his rice for] @; we [chose] @ instead of rice""",
        leads="""when @ [came]; while we [were passing round] @; after @ [had been served]""",
    ),
)

HOT_DRINK = aspects(
    "hot drink",
    "coffee ~; tea ~; hot chocolate ~; espresso; cappuccino",
    "restaurant hotel",
    determiners="the; the; their",
    good=tone(
        adjectives="aromatic; velvety; warming; smooth; delicious; reviving",
        states="""strong enough to wake a bear; made with love; hot, rich and generous; as good as in
        Trieste; the best start to any day; worth getting up for; brewed to perfection""",
        deeds="""brought us back to life; put the world to rights; smelled divine; could raise the
        dead in the nicest way; made the newspaper worth reading""",
        scenes="""I [am still savouring] @; we [lingered happily over] @; my father, a snob, [praised]
        @; we [ordered round after round of] @""",
    ),
    bad=tone(
        adjectives="weak; bitter; lukewarm; watery; acrid; undrinkable; scummy",
        states="""the colour of a puddle; cold on arrival; stewed to tar; closer to dishwater; an
        offence against mornings; from a machine that should be scrapped""",
        deeds="""tasted of burnt rubber; had a skin on top; went cold while the milk was being found;
        tasted of the pot; scared my tongue""",
        scenes="""I [secretly tipped away] @; we [grimaced over] @; my wife [spat out] @; I [could not
        finish] @""",
    ),
    plain=tone(
        states="""served in a glass; poured from a flask; set out on a trolley; included in the price;
        fair trade; brought in a small pot""",
        deeds="""came with a biscuit; arrived on a tray; came with milk on the side; ~<comes|come> in
        three sizes; ~<costs|cost> two pounds fifty; ~<is|are> available all day""",
        scenes="""we [had] @ afterwards; I [asked for] @; we [took] @ upstairs; my friend [ordered] @;
        we [drank] @ in the corner""",
        leads="""when @ [came]; while I [was stirring] @; after we [had drunk] @; """,
    ),
)

COLD_DRINK = aspects(
    "cold drink",
    "house wine ~; cocktails +; cider ~; lemonade ~; craft beer ~; mocktails +; sangria ~",
    "restaurant",
    good=tone(
        adjectives="refreshing; crisp; zesty; well-balanced; delicious; lively",
        states="""cold, bright and dangerous; mixed by a wizard; the taste of July; far too easy to
        drink; poured with a generous hand; perfectly chilled; a holiday in a glass""",
        deeds="""went down like a dream; loosened every tongue; danced on the palate; hit the spot;
        made us forget our phones; had us singing""",
        scenes="""we [toasted each other happily with] @; I [happily surrendered to] @; we [sang the
        praises of] @; my boss [hugged everyone after] @""",
    ),
    bad=tone(
        adjectives="flat; sour; warm; watery; sickly; syrupy; undrinkable",
        states="""all ice and no joy; warm as bathwater; on the edge of vinegar; drowned in syrup;
        mixed by someone with a grudge; better suited to cleaning brass""",
        deeds="""tasted of cough medicine; gave us all a headache; fizzled out before the first sip;
        stripped the enamel from my teeth; smelled of damp cellar""",
        scenes="""we [winced at] @; I [abandoned] @ after a sip; we [paid through the nose for] @; we [gave the plants most of] @""",
    ),
    plain=tone(
        states="""served over ice; sold by the jug; on tap; poured at the table; from a village down
        the road; garnished with mint""",
        deeds="""came in a tall glass; arrived with a paper straw; came with a slice of orange;
        ~<is|are> also available without ice; ~<costs|cost> five pounds""",
        scenes="""we [ordered] @; my mother [had] @; I [stuck to] @; the others [drank] @""",
        leads="when @ [arrived]; while we [were sipping] @; after we [had ordered] @",
    ),
)

MENU = aspects(
    "menu",
    "menu; wine list; tasting menu; children's menu; cocktail list; vegan menu",
    "restaurant",
    good=tone(
        adjectives="varied; imaginative; inventive; well-chosen; tempting; exciting",
        states="""a pleasure to read; full of good ideas; a love letter to the region; short and
        clever; hard to choose from, in the best sense; a treasure chest; clearly written by a
        poet""",
        deeds="""offered something for everyone; made our mouths water; catered beautifully for my
        allergies; surprised us at every turn; had us wanting one of everything""",
        scenes="""we [could have ordered everything on] @; we [pored with delight over] @; my vegan
        cousin [beamed at] @; I [wanted to frame] @""",
    ),
    bad=tone(
        adjectives="unimaginative; confusing; limited; muddled; predictable; uninspired; tedious",
        states="""half crossed out; longer than a phone book and just as tasty; riddled with misprints;
        stuck in the seventies; sticky to the touch; a lesson in how to bore people; useless to
        anyone with an allergy""",
        deeds="""offered next to nothing without meat; promised things the kitchen did not have; made
        no sense to anyone; put us to sleep; gave us eye strain; confused even the regulars""",
        scenes="""we [could find nothing to like on] @; we [yawned over] @; my aunt [despaired of] @; I
        [struggled to find one decent thing on] @""",
    ),
    plain=tone(
        states="""printed on brown paper; in French and English; chalked on a board; four pages long;
        clipped to a piece of wood; available on a tablet; divided by region""",
        deeds="""listed nine dishes; came with the drinks; ran to two pages; ~<changes|change> every
        Thursday; ~<is|are> also posted in the window; ~<has|have> a separate page for sherry;
        ~<starts|start> at twenty pounds a head""",
        scenes="""we [were handed] @ at the door; we [read] @ first; I [looked at] @ online; we [ordered
        from] @; each of us [was given] @""",
        leads="""while we [were reading] @; after we [had looked through] @; when we [were handed] @;
        before we [opened] @""",
    ),
)

PORTIONS = aspects(
    "portions",
    "portions +; starters +; tapas +; sharing plates +; side dishes +",
    "restaurant",
    good=tone(
        adjectives="generous; ample; satisfying; tasty; plentiful; well-judged",
        states="""big enough to feed a rowing team; more than we could finish; kind to hungry people;
        pretty as a picture; a feast for the eyes as well; just the right size""",
        deeds="""left nobody hungry; filled us up for a pound or two; kept even my teenage son happy;
        came heaped like hay bales; sent us home happily unbuttoned""",
        scenes="""we [rolled home merrily after] @; we [marvelled at] @; my grandfather [saluted] @; we
        [were more than happy with] @""",
    ),
    bad=tone(
        adjectives="stingy; measly; skimpy; mean; dull; laughable; doll-sized",
        states="""made for mice; an exercise in hunger; so small we looked for a magnifying glass;
        smaller than a stamp; all plate and no food; an insult to an empty stomach""",
        deeds="""left us hunting for a kebab afterwards; would not have filled a sparrow; barely covered
        the pattern on the plate; vanished in one disappointed bite; sent us home hungry""",
        scenes="""we [laughed bitterly at] @; we [went home hungry after] @; I [needed a sandwich after] @;
        my sons [stared in disbelief at] @""",
    ),
    plain=tone(
        states="""listed by weight; meant for two; served on slates; arranged on a tray; numbered on
        the card; priced by the piece""",
        deeds="""came one after another; arrived all together; came on small plates; ~come in half and
        full sizes; ~are sold in sets of four; ~vary with the season""",
        scenes="""we [ordered] @ first; we [photographed] @; my colleagues [chose] @; we [passed round]
        @""",
        leads="when @ [arrived]; while we [were sharing] @; once @ [were on the table]",
    ),
)

BREAKFAST = aspects(
    "breakfast",
    "breakfast; breakfast buffet; brunch; packed lunch; afternoon tea; scrambled eggs +; porridge ~",
    "hotel",
    good=tone(
        adjectives="plentiful; fresh; tasty; lavish; delicious; wholesome; sumptuous",
        states="""fit for a king; worth setting an alarm for; a cheerful riot of good things; cooked
        to order with a smile; the high point of the stay; enough to keep a hiker going; a thing of
        beauty""",
        deeds="""kept us going until supper; made early rising a pleasure; had us loosening our belts;
        offered every good thing under the sun; set us up for the mountain; won over my fussy
        daughter""",
        scenes="""we [went back three times for] @; I [got up early, smiling, for] @; the children
        [cheered for] @; we [would pay double for] @""",
    ),
    bad=tone(
        adjectives="meagre; stale; lukewarm; dismal; joyless; greasy; dreary; tasteless",
        states="""picked clean by the time we got down; cold, grey and sad; a crime against eggs;
        mostly made of cardboard; a scrum with forks; enough to make one fast; the same old dry
        toast""",
        deeds="""ran out before we reached <it|them>; tasted of the tray <it|they> came on; made us long for a petrol
        station; left a film on the spoon; turned my stomach""",
        scenes="""we [skipped] @ after the first try; even the gulls [ignored] @; we [fled to a bakery
        from] @; [nobody in our party could face] @""",
    ),
    plain=tone(
        states="""served in the conservatory; included in the rate; set out on a long counter; brought
        upstairs on request; laid out in the old stables; ready at seven""",
        deeds="""came with toast and jam; came with a boiled egg; started at half past seven;
        ~<is|are> served until ten; ~<costs|cost> twelve pounds extra; ~<has|have> to be booked the
        night before""",
        scenes="""we [had] @ at eight; we [booked] @ for two; I [took] @ with me; we [paid separately
        for] @; my parents [had] @ upstairs""",
        leads="while we [were having] @; after @ [had been served]; before we [went down for] @",
    ),
)

FOOD = GRILL + BOWL + SWEET + SIDE + HOT_DRINK + COLD_DRINK + MENU + PORTIONS + BREAKFAST
