"""Closed classes of English words that the grammar looks at."""

DETERMINERS = frozenset(
    "a an another any each either every her his its my neither no our some that the their these this those your".split()
)
SUBJECT_PRONOUNS = frozenset(
    "anybody anyone anything everybody everyone everything he i it nobody nothing one she somebody someone "
    "something there they we you".split()
)
PREPOSITIONS = frozenset(
    "about above across after against along alongside amid among around as at before behind below beneath beside "
    "between beyond by concerning despite during except following for from in inside into like near of off on "
    "onto outside over per regarding since than through throughout till toward towards under unlike until up upon "
    "versus via with within without".split()
)
CONJUNCTIONS = frozenset("& and but nor or".split())
SUBORDINATORS = frozenset("although because even given if so though unless when whereas whether while".split())
RELATIVES = frozenset("that where which who whom whose".split())
DEGREES = frozenset("almost as equally far how least less more most much quite rather so too very".split())
ADVERBS = frozenset(
    "actually already also always even ever generally indeed inherently just largely likely merely mostly "
    "necessarily never not now often only perhaps probably really simply sometimes soon still truly ultimately "
    "usually".split()
)
QUANTIFIERS = frozenset("all both few fewer less many more most much other own same several such three two".split())
EFFECTS = frozenset(
    "benefit damage destroy endanger harm help hinder hurt improve poison ruin strengthen threaten undermine weaken "
    "worsen".split()
)
"""Verbs that say of an effect whether it is good or bad."""
CHANGES = EFFECTS | frozenset(
    "reduce cut raise increase lower cause widen narrow bring save prevent encourage discourage boost slow "
    "accelerate "
    "curb promote protect decrease create deter fuel stop spread shrink limit fight tackle ease restrict stimulate "
    "erode drain disrupt distort crowd spoil kill break".split()
)
"""Verbs that say what a thing does to another."""
PEOPLE = frozenset(
    "people man men woman women child children teenager boy girl kid adult parent mother father student pupil "
    "teacher "
    "doctor nurse patient immigrant migrant refugee voter citizen worker employee employer boss manager "
    "landlord tenant "
    "owner driver cyclist politician minister president king queen prince police officer soldier farmer player fan "
    "critic supporter expert scientist lawyer judge billionaire millionaire celebrity youth elderly family tourist "
    "consumer customer banker leader member author writer artist actor singer criminal prisoner addict smoker vegan "
    "vegetarian christian muslim jew atheist liberal conservative democrat republican human person friend neighbour "
    "neighbor influencer streamer gamer poor rich god buyer seller trader lender investor squatter sailor".split()
)
INTRANSITIVE = frozenset("work matter exist fail last pay survive succeed happen count cost".split())
POLICIES = frozenset(
    "ban tax cap limit cut raise fund scrap axe close boycott lower abolish prohibit outlaw restrict subsidise "
    "subsidize "
    "regulate introduce ration remove reduce increase extend reintroduce decriminalise tighten".split()
)
RATINGS = frozenset(
    "acceptable bad beneficial dangerous effective ethical fair good harmful healthy humane illegal immoral "
    "ineffective just justified moral necessary right safe unethical unfair unhealthy unjust unjustified unnecessary "
    "unsafe useful useless wrong better worse great terrible detrimental damaging undesirable desirable sustainable "
    "unsustainable responsible irresponsible acceptable unacceptable inhumane cruel evil overrated underrated legal "
    "mistake threat banned allowed".split()
)
BE = frozenset("am are is was were".split())
DO = frozenset("did do does".split())
HAVE = frozenset("had has have".split())
MODALS = frozenset("can cannot could may might must ought shall should will would".split())
AUXILIARIES = BE | DO | HAVE | MODALS
