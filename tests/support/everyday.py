"""Invented texts of some 60 words of everyday English, and short ones."""

EVERYDAY = {
    "diary": (
        "I woke up late again and missed the bus, so I walked to work in the rain. My shoes were soaked by the time I got there, "
        "and nobody noticed. In the evening I called my sister, and we talked for an hour about nothing. I feel better now. "
        "Tomorrow I will get up early, or at least I will try to."
    ),
    "poem": (
        "The morning lays its quiet hand\nupon the window of my room,\nand all the birds of this cold land\nbegin to sing against "
        "the gloom.\nI hear the river, far and slow,\nI hear the wind among the trees;\nthere is no place I wish to go,\nno song "
        "that I would learn but these.\nThe light goes down, the light will stay,\nas long as someone walks this way."
    ),
    "tweets": (
        "ok so the airline lost my bag AGAIN. third time this year lol\nupdate: they found it!! in Denver. I live in Boston\n"
        "update 2: a very nice guy named Marcus drove it to my house at 11pm and I almost cried\nanyway everyone please be kind to "
        "the people at the airport, they are not the ones who broke the system #travel"
    ),
    "recipe": (
        "Heat the oven to 180 degrees and butter a small baking dish. Beat three eggs with the sugar until the mixture is pale, then "
        "add the flour, a pinch of salt and the melted butter. Slice the apples thinly, spread them over the dough and sprinkle "
        "with cinnamon. Bake for forty minutes until golden. Serve warm, with cream or vanilla ice cream."
    ),
    "news": (
        "Firefighters in northern Portugal battled several wildfires on Sunday as strong winds drove the flames toward villages near "
        "Braga. Officials said more than 600 people had left their homes, and that two firefighters were being treated for burns. "
        "The prime minister, who cut short a visit to Brussels, promised help for farmers who lost animals and machines."
    ),
    "e-mail": (
        "Hi Priya, thanks for sending the slides. I had a look last night and left a few comments; most of them are about the second "
        "section. Could we move our call to Thursday at three? I have a dentist appointment on Wednesday that I forgot about. Also, "
        "please tell Tom that the invoice went out on Monday. Best wishes, Helen"
    ),
    "review": (
        "We came here for my birthday and I honestly expected more. The staff were friendly, but we waited fifty minutes for our "
        "starters, and my pasta was cold in the middle. My husband loved his steak, though, and the chocolate cake was amazing. "
        "Prices are fair for the area. I might come back on a weekday, when it is less crowded."
    ),
    "obituary": (
        "Margaret Ellen Hughes, a retired school teacher and mother of four, died peacefully at her home in Dayton on March 3. She was "
        "87. Born in Cleveland in 1936, she taught third grade for thirty years and sang in the choir of St. Paul's. She is survived "
        "by her children, eleven grandchildren and her brother Walter. A service will be held on Saturday."
    ),
    "clinical note": (
        "Patient is a 64-year-old man with a history of hypertension and type 2 diabetes who came to the emergency department with "
        "chest pain for two hours. Blood pressure was 158/92, pulse 96. He denies fever or cough. The ECG showed no acute changes. "
        "He was given aspirin and admitted overnight for observation. His wife was informed by telephone."
    ),
    "judgment": (
        "The appellant contends that the trial judge erred in admitting the statement which he made to the officers on the night of "
        "his arrest. We do not agree. The record shows that he was informed of his rights and that he waived them freely. The "
        "evidence was therefore properly before the jury. The appeal is dismissed, and the judgment of the court below is affirmed."
    ),
    "children's story": (
        "Once there was a little hedgehog named Pip who was afraid of the dark. Every night he hid under his leaf and shut his eyes. "
        'One evening a firefly landed on his nose. "Why are you hiding?" she asked. "Because it is dark," said Pip. The firefly '
        'laughed and began to glow. "Then come with me," she said, and off they went together.'
    ),
    "modern fiction": (
        "Dana checked her phone for the third time. Nothing. The parking lot behind the gas station was empty except for a white van "
        "with its lights off. She told herself that Kyle was just late, that his battery had died, that people forget things. Then "
        "the door of the van slid open, and someone she had not seen in nine years stepped out and said her name."
    ),
}
SHORT_ENGLISH = (
    "Lakers beat Celtics 112-104 behind LeBron's triple-double",
    "Fed hikes rates again; Wall Street shrugs, Nasdaq up 2%",
    "Pope Francis visits Ulaanbaatar, meets Mongolian president Khurelsukh",
    "Macron, Scholz, Sunak to attend Kyiv summit Tuesday",
    "Djokovic ousts Alcaraz, faces Medvedev in Wimbledon semifinal",
    "omg lmao cant believe u did that smh ur so extra",
    "yo wassup bro u coming thru tonite or nah lol",
    "Ryanair scraps Stansted, Luton, Gatwick routes amid strike chaos",
    "Jürgen Müller, Zoë Saldaña, Renée Zellweger and Penélope Cruz at Cannes",
    "Xiaomi Redmi Note 12 Pro vs Samsung Galaxy A54 vs Google Pixel 7a",
    "Need a plumber ASAP, kitchen sink leaking everywhere, pls DM recs",
    "Chelsea sack Pochettino; Maresca, McKenna, De Zerbi linked",
    "Kendrick Lamar, Beyoncé, Shaboozey and Chappell Roan lead Grammy nominations",
    "Happy birthday grandma! Love you to the moon and back <3",
    "Tagliatelle alla bolognese, tiramisu, espresso: best trattoria in Bologna",
    "Sanjay Gupta, Priyanka Chopra, Deepika Padukone, Ranveer Singh, Shah Rukh Khan",
)
"""English of fewer than 30 words: headlines, messages, names."""
SHORT_OTHER = (
    "El presidente de la empresa dijo ayer que los trabajadores recibirán un aumento de sueldo en enero.",
    "昨天，北京市政府宣布将在明年修建三条新的地铁线路。",
    "Президент России встретился вчера с министром финансов в Москве.",
    "Der Minister hat gestern gesagt, dass er mit dem neuen Gesetz nicht zufrieden ist.",
    "Le ministre a déclaré hier que la nouvelle loi ne serait pas votée avant la fin de l'année.",
    "O presidente da empresa disse ontem que os trabalhadores vão receber um aumento em janeiro.",
    "Il presidente della società ha detto ieri che i lavoratori riceveranno un aumento a gennaio.",
    "De minister zei gisteren dat hij niet tevreden is met de nieuwe wet over het onderwijs.",
    "東京都は昨日、新しい地下鉄の路線を建設すると発表した。",
    "قال رئيس الشركة أمس إن العمال سيحصلون على زيادة في الرواتب",
    "Başkan dün işçilerin ocak ayında zam alacağını söyledi ve sendika bunu memnuniyetle karşıladı.",
    "Prezes firmy powiedział wczoraj, że pracownicy dostaną podwyżkę w styczniu przyszłego roku.",
)
"""Other languages, of fewer than 30 words."""
