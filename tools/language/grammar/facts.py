"""Open questions that ask for a fact, which is looked up, and those whose answers people weigh."""

import re

_WEIGHING = re.compile(
    r"\b(?:best|better|worst|should|ought|ideal|right|wrong|fair|good|bad|most (?:effective|important|just)|too|"
    r"effective|responsible|to blame|justif\w+|solve|fix|improve|reduce|make|deal with|handle|address|tackle|prevent|"
    r"think of|arguments?|"
    r"case (?:for|against)|pros|cons|advantages|drawbacks|benefits|harms|risks|worth|balance|matter|why|can|could|"
    r"would|we|us|you|one)\b",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"(?:who|when|where)\b.*"
    r"|how (?:many|much|old|tall|long|far|high|fast|big|large|deep|heavy|hot|cold|often)\b.*"
    r"|how (?:is|are|was|were) .+(?:ed|made|built|grown|born|written)\W*"
    r"|how (?:do|does|did) .+ (?:works?|begin|start|form|happen|spread)\W*"
    r"|(?:what|which) (?:\w+ )?(?:do|does|did|year|date|day|country|city|language)\b.*"
    r"|what (?:is|was) (?:the )?[\w-]+ of (?:the )?(?-i:[A-Z]).*"
    r"|what (?:is|was|are|were) (?!the\b)[\w-]+(?: [\w-]+){0,2}\W*"
    r"|what (?:causes|caused|happens|happened)\b.*",
    re.IGNORECASE,
)


def asks_for_fact(question: str) -> bool:
    """Whether an open question has one answer that can be looked up."""
    return _FACT.fullmatch(question) is not None and not _WEIGHING.search(question)
