"""Short made-up pairs that teach a judge to multiply two polarities: the statement's and the text's.

A statement is for or against a thing ("should be banned", "is safe"), and so is a text ("spares families …", "breeds
…"); the text supports the statement exactly when the two signs agree. Real sets hold too few statements for and against
the same thing to teach that.
"""

import random

_SINGULAR = (
    "nuclear power|remote work|home schooling|genetic engineering|the death penalty|mass tourism|"
    "online voting|surge pricing|factory farming|animal testing|artificial intelligence|gambling|"
    "foreign aid|free trade|compulsory voting|space travel|social media|offshore drilling|fracking|"
    "facial recognition|the four-day week|rent control|the monarchy|daylight saving|private health care|"
    "standardised testing|surrogacy|organ trading|assisted dying|conscription|immigration|urban farming|"
    "bottled water|fast fashion|advertising to children|tuition|single-sex education|video surveillance|"
    "cash|boxing|positive discrimination|the minimum wage|the inheritance tax|a carbon tax|a sugar tax|"
    "a universal basic income|public broadcasting|zoning|bilingual teaching|whaling|trophy hunting|"
    "geoengineering|prostitution|military service|plea bargaining|early retirement|congestion pricing|"
    "high-speed rail|nuclear deterrence|vaccination|meat eating|competitive sport|celebrity culture|"
    "working from home|religious education|the jury system|plastic packaging"
).split("|")
_PLURAL = (
    "zoos|school uniforms|electric cars|electronic cigarettes|speed cameras|private schools|trade unions|"
    "labour markets|charter schools|genetically modified crops|violent video games|smartphones in schools|"
    "wind farms|hedge funds|term limits|body cameras|drones|circuses with animals|beauty contests|"
    "tax cuts|grammar schools|sanctions|dams|border walls|gated communities|nuclear weapons|referendums|"
    "parking charges|bicycle lanes|credit cards|boarding schools|unpaid internships|gender quotas|"
    "food banks|sports betting shops|plastic bags|fireworks|open borders|lotteries|hate speech laws|"
    "safe injection sites|self-driving cars|school exams|homework assignments|cryptocurrencies|reality shows"
).split("|")
_PEOPLE = (
    "children|families|workers|patients|pupils|the poor|citizens|women|young people|small firms|"
    "communities|taxpayers|voters"
).split("|")
_GOOD = (
    "safety|trust|health|freedom|prosperity|fairness|opportunity|productivity|social cohesion|"
    "innovation|equality|learning|well-being|choice|growth|privacy|biodiversity|accountability|"
    "employment|creativity|dignity|public confidence|peace"
).split("|")
_BAD = (
    "crime|poverty|pollution|disease|inequality|unemployment|debt|stress|accidents|violence|corruption|"
    "addiction|waste|exploitation|loneliness|discrimination|fraud|congestion|suffering|bullying|"
    "dependence|resentment|anxiety|cruelty"
).split("|")
_FOR_VERB = (
    "support|keep|allow|legalise|fund|subsidise|promote|expand|encourage|protect|adopt|introduce|defend|welcome"
).split("|")
_AGAINST_VERB = (
    "ban|abolish|oppose|end|restrict|prohibit|outlaw|phase out|reject|forbid|stop|discourage|get rid of|abandon"
).split("|")
_FOR_PAST = (
    "allowed|legal|kept|funded|encouraged|expanded|protected|supported|subsidised|permitted|available to all|promoted"
).split("|")
_AGAINST_PAST = (
    "banned|abolished|illegal|ended|restricted|prohibited|outlawed|phased out|rejected|forbidden|discouraged"
).split("|")
_FOR_ADJECTIVE = (
    "good|beneficial|safe|effective|necessary|worth the cost|justified|useful|a good idea|fair|desirable|positive"
).split("|")
_AGAINST_ADJECTIVE = (
    "bad|harmful|dangerous|useless|unnecessary|a waste of money|unjustified|unfair|a bad idea|wrong|risky"
).split("|")
_LIFTS = ("increases|strengthens|fosters|improves|promotes|brings|creates|supports|adds to|encourages").split("|")
_CUTS = ("reduces|weakens|undermines|prevents|erodes|limits|lowers|destroys|relieves|gets rid of").split("|")
_HELPS = ("helps|benefits|protects|empowers|serves|enriches|saves").split("|")
_HARMS = ("harms|hurts|fails|endangers|exploits|deceives|burdens|punishes").split("|")


class _Writer:
    """Draws phrases about one thing with one generator."""

    def __init__(self, rng: random.Random) -> None:
        self.pick = rng.choice
        self.chance = rng.random
        self.plural = rng.random() < 0.45
        self.thing = rng.choice(_PLURAL if self.plural else _SINGULAR)
        self.be = "are" if self.plural else "is"
        self.do = "do" if self.plural else "does"

    def verb(self, third_person: str) -> str:
        """The verb in agreement with the thing."""
        if not self.plural:
            return third_person
        head, _, rest = third_person.partition(" ")
        bare = head[:-2] if head.endswith(("ches", "shes")) else head[:-1]
        return f"{bare} {rest}".strip()

    def statement(self, sign: int) -> str:
        """A statement for (1) or against (-1) the thing; half of them reach the sign through a negation."""
        negated = self.chance() < 0.5
        lean = -sign if negated else sign
        no = " not" if negated else ""
        verb = self.pick(_FOR_VERB if lean > 0 else _AGAINST_VERB)
        past = self.pick(_FOR_PAST if lean > 0 else _AGAINST_PAST)
        adjective = self.pick(_FOR_ADJECTIVE if lean > 0 else _AGAINST_ADJECTIVE)
        good, harm = ("good", "harm") if sign > 0 else ("harm", "good")
        gains, losses = ("benefits", "harms") if sign > 0 else ("harms", "benefits")
        forms = [
            f"We should{no} {verb} {self.thing}",
            f"{self.thing} should{no} be {past}",
            f"{self.thing} {self.be}{no} {adjective}",
            f"{self.thing} {self.do} more {good} than {harm}",
            f"The {gains} of {self.thing} outweigh the {losses}",
            f"Governments should{no} {verb} {self.thing}",
            f"{self.thing} {self.be}{no} {adjective} for {self.pick(_PEOPLE)}",
        ]
        return _sentence(self.pick(forms))

    def effect(self, sign: int, plain: bool = False) -> str:
        """A clause in which the thing does good (1) or ill (-1)."""
        people, good, bad = self.pick(_PEOPLE), self.pick(_GOOD), self.pick(_BAD)
        lift, cut = self.verb(self.pick(_LIFTS)), self.verb(self.pick(_CUTS))
        forms = [
            f"{lift} {good if sign > 0 else bad}",
            f"{cut} {bad if sign > 0 else good}",
            f"{self.verb(self.pick(_HELPS if sign > 0 else _HARMS))} {people}",
            f"{lift} {good if sign > 0 else bad} among {people}",
            f"{self.verb('leads')} to {'less' if sign > 0 else 'more'} {bad}",
            f"{self.verb('makes')} {people} {'safer' if sign > 0 else 'worse off'}",
        ]
        if not plain:
            denied = ("harm", "hurt", "endanger") if sign > 0 else ("help", "serve", "protect")
            forms.append(f"{self.do} not {self.pick(denied)} {people}")
        return self.pick(forms)

    def consequence(self, sign: int) -> str:
        """What would follow, good (1) or ill (-1), after 'would'."""
        good, bad, people = self.pick(_GOOD), self.pick(_BAD), self.pick(_PEOPLE)
        return self.pick(
            [
                f"{'reduce' if sign > 0 else 'increase'} {bad}",
                f"{'restore' if sign > 0 else 'destroy'} {good}",
                f"{'help' if sign > 0 else 'hurt'} {people}",
                f"{'spare' if sign > 0 else 'bring'} {people} much {bad}",
            ]
        )

    def text(self, sign: int) -> str:
        """A text for (1) or against (-1) the thing."""
        thing, people, good, good_for = self.thing, self.pick(_PEOPLE), self.pick(_GOOD), sign > 0
        they = "they" if self.plural else "it"
        allowed = self.pick(("allowed", "widespread", "promoted"))
        banned = self.pick(("banned", "restricted", "given up"))
        doubted = self.pick(("exaggerated", "a myth", "overstated", "unproven"))
        turn, most = self.pick(("in truth", "in fact", "really")), self.pick(("Many", "Most"))
        forms = [
            f"{thing} {self.effect(sign)}",
            f"{thing} {self.effect(sign)} and {self.effect(sign, plain=True)}",
            f"Banning {thing} would {self.consequence(-sign)}",
            f"Without {thing}, {people} would have {'less' if good_for else 'more'} {good}",
            f"Although some say that {thing} {self.effect(-sign, plain=True)}, {turn} {they} {self.effect(sign)}",
            f"The {'dangers' if good_for else 'benefits'} of {thing} are {doubted}",
            f"There is no evidence that {thing} {self.effect(-sign, plain=True)}",
            f"{people} {'gain' if good_for else 'suffer'} when {thing} {self.be} {allowed}",
            f"{people} {'lose' if good_for else 'gain'} when {thing} {self.be} {banned}",
            f"{most} {people} are {'better' if good_for else 'worse'} off because of {thing}",
            f"{thing} {self.be} {'not ' if self.chance() < 0.5 else ''}",
        ]
        chosen = self.pick(forms)
        if chosen.endswith("not "):
            return _sentence(chosen + self.pick(_AGAINST_ADJECTIVE if sign > 0 else _FOR_ADJECTIVE))
        if chosen.endswith(("is ", "are ")):
            return _sentence(chosen + self.pick(_FOR_ADJECTIVE if sign > 0 else _AGAINST_ADJECTIVE))
        return _sentence(chosen)

    def neutral(self) -> str:
        """A text about the thing that takes no side."""
        return _sentence(
            self.pick(
                [
                    f"{self.thing} {self.be} discussed in many countries",
                    f"A report on {self.thing} will be published next year",
                    f"The rules on {self.thing} differ from place to place",
                    f"The history of {self.thing} goes back a long way",
                    f"{self.pick(_PEOPLE)} were asked what they think about {self.thing}",
                    f"Whether {self.thing} {self.verb('harms')} or {self.verb('helps')} people is disputed",
                    f"Parliament will debate {self.thing} in the autumn",
                ]
            )
        )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip() + "."


def synthetic_pair(rng: random.Random) -> tuple[str, str, int]:
    """A statement, a text and the label: 0 support, 1 oppose, 2 none."""
    writer = _Writer(rng)
    side, lean = rng.choice((1, -1)), rng.choice((1, -1))
    draw = rng.random()
    if draw < 0.08:
        return writer.statement(side), writer.neutral(), 2
    if draw < 0.18:
        other = _Writer(rng)
        label = 2 if other.thing != writer.thing else (0 if side == lean else 1)
        return writer.statement(side), other.text(lean), label
    return writer.statement(side), writer.text(lean), 0 if side == lean else 1
