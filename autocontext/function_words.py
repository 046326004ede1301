"""Words that say nothing on a question's topic, by language: articles, pronouns, prepositions, question words.

Only the questions lose them, never the documents. Chinese and Japanese are given as
the pairs of characters that the tokenizer makes.
"""

from __future__ import annotations

FUNCTION_WORDS = {
    "en": (
        "a an the of in on at to for from by with about as is are was were be been do does did has have had can "
        "could will would should may must it its this that these those there here i you he she we they my your "
        "his her our their me him us them and or but not no if than then so what which who whom whose when where "
        "why how many much long old often far tell say says said give name find mean exactly please any some "
        "also just still ever am being having doing between during while both each other others such only very more "
        "most same own too because until against into through before after above below up down out off over under "
        "again further once all few nor i'd i'm like want know interested explain describe list show e.g i.e etc"
    ),
    "de": (
        "der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine ist sind war "
        "waren sein hat haben hatte wird werden wurde wurden kann ich du er sie es wir ihr man mein dein in im an "
        "am auf aus bei mit nach seit von vom vor zu zum zur für über um durch wer was wann wo warum wie wieso "
        "welche welcher welches wem wen wessen viel viele lange oft gibt heißt nennt noch auch nur alt"
    ),
    "fr": (
        "le la les un une des du de et ou est sont était a ont qui que quoi quand où pourquoi comment quel quelle "
        "quels quelles combien ce cette ces il elle dans sur pour par avec en au aux ne pas"
    ),
    "es": (
        "el la los las un una unos unas de del y o es son era fue que quién qué cuándo dónde por cómo cuál cuáles "
        "cuánto cuántos en con para al se no su sus lo a"
    ),
    "it": (
        "il lo la i gli le un uno una di a da in con su per tra fra del della dei delle degli al alla nel nella e "
        "o ma non è sono era che chi cosa quando dove perché come quale quali quanto quanti quante si ha hanno"
    ),
    "pt": (
        "o a os as um uma uns umas de do da dos das em no na nos nas por para com e ou mas não é são era foi que "
        "quem quando onde porque como qual quais quanto quantos se ao à seu sua tem"
    ),
    "nl": (
        "de het een en of maar niet geen is zijn was waren heeft hebben wordt werd kan ik je hij zij ze we wij in "
        "op aan uit bij met naar van voor door over om te tot wie wat wanneer waar waarom hoe welke welk hoeveel "
        "dat die dit deze er ook nog"
    ),
    "ru": (
        "и в во не что он на я с со как а то она так его но да ты к у же вы за бы по её мне было вот от меня еще "
        "нет о из ему ли если или ни быть был него до вас они тут где есть для мы их чем была себя кто этот того "
        "потому этого какой какая какое какие какого какую каким каких при об после эти нас про эту этой такой "
        "им сколько почему откуда зачем куда когда чей чья чьё кого кому кем ком чему чём который которая "
        "которое которые является являются это"
    ),
    "el": (
        "ο η το οι τα του της των τον την τους τις ένα ένας μια μία και ή να θα δεν μη με σε από για ως προς στο "
        "στη στην στον στα στους στις που πού πως πώς τι ποιος ποια ποιο ποιοι ποιες ποιον πότε γιατί πόσο πόσα "
        "πόσοι είναι ήταν έχει αυτό αυτός αυτή ότι"
    ),
    "tr": (
        "ve veya ya da de ile için bir bu şu o ne nedir neden niçin niye nasıl nerede nereye nereden hangi hangisi "
        "kim kimin kime kimi kimden kaç kadar zaman mi mı mu mü midir mıdır ama fakat gibi daha çok en her olarak "
        "olan oldu olduğu ise değil var göre tarafından hem ki"
    ),
    "ar": (
        "في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين كيف لماذا لم لن لا كم هو هي هم كان "
        "كانت يكون تكون أن إن أو و ثم قد كل بعض عند بعد قبل بين حتى إذا كما أي أية هل منذ خلال وما ومن وفي هناك "
        "به بها له لها فيه فيها منه منها عليه عليها"
    ),
    "hi": (
        "का की के को में से पर और है हैं था थी थे एक यह वह "
        "ये वे इस उस इन उन जो कि क्या कौन कब कहाँ कहां कैसे क्यों कितना "
        "कितने कितनी किस किसने किसे किसका किसकी किसके कौनसा ने भी ही तो या नहीं हो होता होती होते कर करना करने किया "
        "गया गई गए लिए साथ तक द्वारा हुआ हुई हुए"
    ),
    "zh": (
        "什么 什麼 么时 麼時 时候 時候 为什 為什 哪个 哪個 哪些 哪里 哪裡 哪儿 哪年 哪一 怎么 怎麼 么样 怎样 怎樣 "
        "如何 多少 何时 何地 是什 是谁 的是 是哪 是多 了什 有什 有哪 有多 是在 在哪 由谁 被谁 是由 由哪 于哪 的什 么是 "
        "的哪 在什 几个 几年 是如 什么"
    ),
    "ja": (
        "です ます すか した する して いる ある もの こと とは のは では には から まで など 何で 何が 何を 何年 いつ "
        "どこ だれ 誰が 誰で なぜ どの どん んな よう うな どう"
    ),
    "vi": (
        "và của là có các những một được trong cho với từ này đó khi "
        "nào gì ai đâu sao bao nhiêu như thế tại vì đã đang sẽ "
        "bị bởi để ở trên dưới về không phải hay hoặc nhưng mà thì cũng rất theo đến"
    ),
}
# Vietnamese is here to be told from the others: its syllables stand apart, each of these is part of other words too,
# and dropping them was measured to lose.
NEVER_DROPPED = frozenset(("vi",))
