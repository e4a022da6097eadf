"""The frequent words of languages, which nearly every sentence has: articles, pronouns, prepositions, auxiliaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """What a text in a language is known by."""

    name: str
    code: str
    """Its code of ISO 639-1."""
    letters: frozenset[str]
    """Its letters beyond a to z; in another script, those that not every language of the script has."""
    words: frozenset[str]


def _languages(text: str) -> Iterator[Language]:
    """Languages: for each a line of name, code and letters, then its words."""
    for given in text.strip().split("\n\n"):
        first, *lines = given.splitlines()
        name, code, *letters = first.split()
        yield Language(name, code, frozenset("".join(letters)), frozenset(" ".join(lines).split()))


LANGUAGES = tuple(
    _languages(
        """
English en
a about after all also am an and another any are as at be because been before being between both but by can could d
did didn do does doesn doing don down during each even every few for from get go had has have having he her here him
his how i if in into is isn it its just like ll m me more most much must my no nor not now of off on once one only or
other our out over own re s said same she should so some such t than that the their them then there these they this
those though through to too under until up upon us ve very was we were what when where whether which while who whom
whose why will with within without would yet you your

German de äöüß
aber als auch auf aus bei beim bis dann das dass dem den denn der deren des dessen die diese diesem diesen dieser
dieses doch durch ein eine einem einen einer eines er es etwa für gegen habe haben hat hatte hatten ihm ihn ihr ihre
ihrem ihren ihrer im immer ins ist jahre jedoch jetzt kann kein keine konnte können man mehr mit muss müssen nach
nicht noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen seiner seit sich sie sind so soll sollen sowie
um und unter vom von vor war waren was wegen weil wenn werden wie wieder wir wird worden wurde wurden zu zum zur zwei
zwischen über

French fr àâçèéêëîïôùûœ
ainsi alors après au aussi autre aux avait avant avec avoir bien car ce cela celle celui ces cet cette ceux chaque
comme dans de depuis des deux donc dont du elle elles en encore entre est et eux faire fait faut fut il ils je jusqu
la le les leur leurs lors lorsque lui là mais moins même ne ni nos notre nous on ont ou où par pas pendant peu peut
plus plusieurs pour pourquoi près puis qu quand que quel quelle quelques qui quoi sa sans se selon sera ses si sont
sous sur tous tout toute toutes trop très un une vers votre vous à ça été être

Spanish es áéíñóú
al algo ante antes aquí así aunque bajo cada como con contra cual cuando de del desde después donde dos durante el
ella ellos en entre era es esa ese eso esta estas este esto estos está están fue fueron ha había hace hacia han hasta
hay la las le les lo los mas me mi mientras mismo mucho muy más nada ni no nos nosotros o otra otras otro otros para
pero poco por porque puede pueden que quien qué se sea según ser si sido sin sobre son su sus sí también tan tanto te
tiene tienen toda todas todo todos tras tu un una uno unos ya yo

Italian it àèéìòù
agli ai al alla alle anche ancora avere aveva che chi ci ciò come con contro cosa così cui da dagli dai dal dalla
dalle degli dei del della delle dello di dopo dove due durante era erano essere fino fra già gli ha hanno il in io la
le lei li lo loro lui ma mentre molto ne negli nei nel nella nelle nello no noi non nostro o ogni per perché però più
poi prima può qua quale quando quanto quella quelle quelli quello questa queste questi questo qui sarà se senza si sia
sono stata state stati stato su sua sue sugli sul sulla suo suoi tra tre tutte tutti tutto un una uno è

Portuguese pt àáâãçéêíóôõú
ainda antes ao aos apenas após até cada com como contra da das de dela dele deles depois desde do dos durante e ela
elas ele eles em enquanto entre era eram essa esse esta estas este estes esteve está estão eu foi foram há isso isto
já lhe mais mas mesma mesmo meu minha muito na nas nem no nos nossa nosso num numa não nós o onde os ou outra outro
outros para pela pelas pelo pelos pode podem por porque quando que quem se seja sem sempre ser será seu seus sido sob
sobre sua suas são também tem teve tinha toda todas todo todos tudo tão têm um uma você vocês à às é

Dutch nl ëï
aan al alleen alles als andere bij daar dan dat de deze die dit door een eens en er geen had hebben heeft hem het hier
hij hoe hun ik in is jaar je kan kon kunnen maar me meer men met mijn moet moeten na naar niet niets nog nu of om
omdat onder ons onze ook op over te tegen tijdens tot tussen twee u uit uw van vanaf veel volgens voor waar waren was
wat we weer wel welke werd werden wie wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou zouden

Russian ru ёйщъыэ
бы был была были было быть в вам вас вы где да для до его ее если есть еще ещё её же за и из или им их к как когда
которая которые который которых кто ли между меня мне может можно мы на над нам нас не него нет ни них но о об однако
он она они оно от очень по под после потому при с своих свой себя со так также такой там тем то того тоже только том
ты у уже чем что чтобы эта эти это этого этой этом этот я

Polish pl ąćęłńóśźż
aby ale ani bardzo bez bo być był była było były ci co coś czy dla do dwa gdy gdzie go i ich im inne ja jak jako je
jednak jego jej jest jeszcze jeśli już kiedy kto która które którego której który których którym lub ma mnie może
można na nad nam nas nawet nich nie nim niż o od oraz pan po pod poza przed przez przy roku się są ta tak także tam te
tego tej ten też to tu tych tylko tym u w we wszystko wtedy z za ze że

Turkish tr çğıöşü
ama ancak artık bana bazı ben beri bir biz bu bunu bunun burada böyle da daha de değil diye diğer dolayı en fakat gibi
göre hangi hem hep her hiç ile ilgili ise itibaren için kadar kendi ki kim kişi mi mu mü mı nasıl ne neden nerede o
olan olarak oldu olduğu olduğunu olmak olmuş olup olur on onu onun oraya sadece sen siz son sonra tarafından tüm var
ve veya ya yani yine yok çok çünkü önce öyle üzere şey şimdi

Swedish sv åäö
alla allt att av bara bland blev bli blir de dem den denna deras dess det detta dig du där då efter eftersom ej eller
en enligt ett från för före genom ha hade han hans har hela henne hennes hon honom hos hur här i icke igen in ingen
inget innan inte jag kan kommer kunde man med mellan men mer mig mot mycket måste ni nu när någon något några och
också om oss på samma samt sedan sig sin sina sitt själv ska skall skulle som så till under upp ut utan vad var vara
varit vid vilka vilken vill är även år åt över

Danish da åæø
ad af alle at bare blev blive bliver da de dem den denne der deres det dette dig din dog du efter eller en end er et
for fordi fra før gennem ham han hans har havde hende hendes her hos hun hvad hvilken hvis hvor hvordan i igen ikke
ind ingen jeg kan kom kun kunne lige man mange med meget mellem men mere mig mod må ned noget nogle nok nu når og også
om op os over på samme selv sig sin sine skal skulle som så til ud uden under var ved vi vil ville være været år

Norwegian no åæø
alle at av bare ble bli blir både da de dem den denne der deres det dette disse du eller en enn er et etter for fordi
fra før gjennom ha hadde ham han hans har henne hennes her hos hun hva hver hvis hvor hvordan i igjen ikke ingen inn
jeg kan kom kunne man mange med meg mellom men mer mot må noe noen nok nå når og også om opp oss over på samme seg
selv sin sine skal skulle som så til under ut uten var ved vi vil ville være vært å år

Finnish fi äö
ei eikä eivät ennen ettei että he hyvin hän hänen itse ja joita joka jonka jos joskus jossa jota jotka jotta jälkeen
kaikki kanssa kautta keskellä kuin kuinka kun kunnes kuten me mikä minkä minä missä mitä mukaan mutta muun muut myös
ne niiden niin niitä noin nyt ole olemme olen oli olisi olivat olla on ovat paljon se sekä sen siellä siihen siitä
sillä sinä sitten sitä sivu tai tulee tämä tämän tätä uuden vai vaikka vain voi voidaan vuoden vuonna vuotta yli

Czech cs áčďéěíňóřšťúůýž
aby ale ani asi bude budou by byl byla byli bylo být co což další do ho i jak jako je jeho jej jejich její jen ještě
již jsem jsme jsou k kde kdo kdy když kterou která které který kterých mají má může na nebo nebyl není než o od on pak
po pod podle pouze pro proto protože před při roku s se si své svůj ta tak také tam tedy ten tento toho tom tomu tu ty
této tím už v ve více však z za ze že

Slovak sk áäčďéíľĺňóôšťúýž
aby aj ako ale alebo ani bol bola boli bolo bude budú by byť do ešte ho i iba ich je jeho jej každý kde keď ktorá
ktoré ktorého ktorí ktorý ktorých ku len majú medzi má môže na nad než nie od ona oni po pod podľa potom pre pred
preto pretože pri roku sa si so som svoj sú ta tak takže tento to tohto tom tým už v viac vo však z za zo čo že

Slovenian sl čšž
ali ampak bi bil bila bili bilo biti bo bodo brez da do ga ima imajo in iz je jih jim jo kaj kako kar ker ki ko kot
lahko le med mu na nad naj ne ni niso njegov njihov o ob od on pa po pod pred pri proti se sem si smo so svoje ta tako
te tega tem ter to tudi v vendar več vse z za zaradi zelo če še že

Croatian hr čćđšž
ali bez bi bila bili bilo bio biti da do dok ga gdje i ih ili im ima iz između ja je jedan jer još kada kako kao koja
koje kojeg koji kojih kojim koju kroz li međutim mi može na nad nakon ne nego nije nisu njegov njih o od on oni ova
ovaj ovo po pod pri prije sa samo se su sve svi svoje ta tako također te to treba u uz već vrlo za zbog će šta što

Romanian ro ăâîșşțţ
aceasta această acest aceste acestea ai al ale am ar astfel asupra au avea care ce cea cei cel cele cu cum când cât că
dacă dar de decât despre deși din după ea ei el era este eu fi fie fiind fost iar la lor lui mai mult ne nici noi nu o
ori pe pentru prin printr până sa sale sau se sunt să său toate tot totul un una unde unei unele unor unui va voi în
înainte între și

Hungarian hu áéíóöőúüű
a addig ahol aki akkor alatt amely amelyek ami amikor annak arra az azok azonban azt azért be csak de e ebben egy
egyik el ellen először erre ez ezek ezt ezért fel ha hanem hogy hogyan illetve is itt kell ki két kívül le lehet lesz
lett ma meg mellett mert mi minden mindig mint most már még nagy nagyon nem nincs nélkül olyan ott pedig s saját sem
semmi során szerint tovább több után vagy való van vannak volt voltak én és így úgy ő ők

Ukrainian uk єіїґ
або але б без би був була були було бути в вам вас вже ви вона вони від він де для до ж з за зі й його коли ми може
можна між на над нас не немає ні о об один однак по при про просто під після своїх свій себе та так також там те ти то
того тому тільки у усі хто це цей цього цьому ця ці через чи що щоб я як яка яке який якщо які є і із їх її

Bulgarian bg щъ
аз ако без беше би бил бяха в вече все всички във да до докато дори е един една едно ето за защото и или им има как
какво като когато което които кой който която към ли ме между ми много мога може му на над най не него нея ни нито но
няма от още по повече под поради преди при с са само се си след сме според съм със също тази така такава там те тези
ти това този той трябва тя х ще

Serbian sr ђјљњћџ
ако али без би била били био бити бих биће в већ већа више да до док его за због и из између или им има иначе испод
када како као која које који којих којој коју кроз ли међу ми може на над након не него нису није о ово овог овој од
он она они осим па по под после пре при са сам само све сви своје своју се смо ста су та тако такође то тог томе ту у
уз шта што ја је један једна једно јер још ће

Arabic ar
أم أن أنا أنه أو أي أيضا إذا إلى إن إنه بعد بعض بل بين تلك ثم حتى حول حيث خلال دون ذلك سوف ضد عام عبر على عليه عليها
عن عند عندما غير فإن في فيه فيها قال قبل قد كان كانت كل كما لا لقد لكن لم لن له لها ليس ما مثل مع من منذ منها هذا هذه
هل هم هنا هناك هو هي وفي وقال وقد وكان وكانت ولا ولكن ولم ومن وهو وهي يتم يكون

Persian fa پچژگ
آن آنها از است اما اند او اگر ای این با باید بر برای به بود بودند بین تا تر جهت خود دارد دارند در دو دیگر را روی زیر
سپس شد شدند شده شود ما مانند مورد می نمی نیز نیست ها های هر هم همه همین هیچ و ولی وی پس پیش چند چه چون کرد کردند کرده
کند کنند کنید که یا یک

Urdu ur ٹڈڑںےھہ
آپ اس اسے ان انہوں انہیں اور ایک بعد بھی بہت تو تک تھا تھی تھے جب جس جن جو دو رہا رہی رہے ساتھ سے طرح لیکن لیے میں
نہیں نے وہ پر پھر کا کرتے کرنا کرنے کسی کو کوئی کہ کہا کی کیا کے گئی گئے گیا ہر ہم ہو ہوئی ہوئے ہوا ہونے ہوں ہی ہیں ہے
یا یہ

Indonesian id
ada adalah akan anda apa atau bagi bahwa banyak baru bisa bukan dalam dan dapat dari dengan di dia hanya harus hingga
ia ini itu jika juga kami karena kata ke kepada ketika kita lagi lain lebih maka masih mereka namun oleh orang pada
para pernah saat saja saya sebagai sebuah secara sedang sejak semua seperti serta setelah sudah tahun tanpa telah
tentang terhadap tersebut tetapi tidak untuk yaitu yang

Vietnamese vi àáâèéêìíòóôùúýăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ
anh bạn bị bởi cho chúng chỉ các cái còn có cùng cũng của giữa hay hơn họ khi không là làm lên lại mà mình mỗi một
ngày người nhiều như nhưng những nào này nên nó năm nước nếu phải qua ra rất rằng sau sẽ sự ta theo thì thế trong trên
trước tôi tại từ việc và vào vì vẫn về với ông đang đi điều đã đó được đến để ở

Catalan ca àçèéíïòóúü
abans així això al als amb aquest aquesta aquests bé cada com contra del dels des després el ella els en encara entre
era estan està ets fa fer fins fou ha han havia hi i ja la les li llur mateix mentre meu molt més no només nosaltres o
on pel pels per perquè però poden pot qual quan que qui què sap se sense ser seu seva seves si sobre són també tan
tenir tot tota totes tots té un una unes uns va van és

Afrikaans af êëï
aan as baie by daar dat deur die dit een en gaan geen haar had het hierdie hoe hom hulle hy in is ja jaar jou kan ky
maar meer met my na nie nog nou of om omdat onder ons ook oor op sal se self sien so sy te toe tot tussen twee uit van
vir vol voor waar was wat weer wees wie word

Frisian fy âêôúû
as at bin binne by dat de der dit dizze dy earst ek en fan foar guon hat hawwe har harren hat hie hiene him hja hoe hy ik
in is it kin kinne mar mei mear minsken moat moatte nei net noch oan om op oer oft ôf sa sûnder sy syn te ta tsjin troch
tusken út ús wat wer wêr wie wiene wol wurde wurdt yn

Estonian et äõöü
aasta aastal aga ainult all alles ega ehk ei enne et iga igal ise ja juba juures järel järgi kas keda kelle kes kogu
koos kui kuid kuidas kus küll ma me meie mida millal mille mis mu mõne mõned nad need nende nii ning nüüd ole oleks
olema oli olid oma on peale pole pärast rohkem sama seda see selle sellest siin siis ta tal talle te tema tuleb vaid
veel väga või üks üle

Latvian lv āčēģīķļņšūž
ar arī bet bez bija bijis būs būt caur ciklu dienā divi dēļ es gada gadā gan ir ja jau jo jūs ka kad kas katrs ko kopā
kur kura kuras kuri kurš kā laikā līdz man mazāk mēs nav ne nebija no notiek pa par pat pie pirms pret pēc savu savā
starp tad tagad tas te tie tiek tika tikai to tomēr tā un uz vai vairāk var viena viens visi viņa viņi viņš vēl šis šo
šī

Lithuanian lt ąčęėįšųūž
ant apie ar arba be bei bet bus buvo būti dabar dar dėl gali iki ir iš jai jau jei ji jie jis jo jos jų kad kai kaip
kas kiek kitas kur kuri kurie kurios kuris kurių labai mes metais metu metų mūsų nei nes net nors nėra o pagal pas pat
per po prie prieš savo tada tai taip tarp tačiau ten tie tik to tuo turi tų už viena vienas vis visi visų yra į ši šio
šis

Icelandic is áæðéíóöúýþ
af allir annað að bara ef eftir ekki en er eru eða fram frá fyrir hafa hafði hann hans hefur hvað hver hér hún inn
líka með mjög mér nú og okkur sem sig skal svo sér sín til um undir upp var vera verið við voru yfir á ég í úr þar þau
það þegar þeir þess þessi þetta þó þú

Albanian sq çë
ai ajo ata atij aty dhe disa do duke edhe ishin ishte ja janë jo ka kam kanë kishte kjo ku kur kështu këto këtë me
mund më ndër nga një nuk në pa para pas po por për që sa saj se si sipas siç ta tij tjera tjetër të u vetëm vit çdo
është
"""
    )
)
"""Those that write many texts first."""
ENGLISH = LANGUAGES[0]
