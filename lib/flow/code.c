/* Which words of a command are code: see code.h. A table says how each interpreter reads its
 * options; what it does not know counts as code. Called by phxd when a trigger is made. Pure. */
#include "flow/code.h"

#include <stddef.h>
#include <string.h>

#include "base/identity.h"

/* How options are read. */
enum {
	SHELL = 1, /* the option says only that the first operand is code; '+' begins some, too */
	FIRST = 2, /* the first operand is code, unless an option had some, or a file with some */
	PERMUTES = 4, /* options count behind operands, too */
	SPLIT = 8,    /* nothing is attached to a letter */
	RUNS = 16,    /* an operand may be a program that it runs */
	PLAIN = 32,   /* it runs no code; looked for only where no interpreter is named before */
};

struct phx_code_language {
	const char *what, *names;
	const char *code;  /* letters of options that have code, attached or as the next word */
	const char *takes; /* letters of options with another argument, attached or the next word */
	const char *rest;  /* letters of options with another argument, attached or none */
	const char *ends;  /* letters behind whose argument no options follow */
	const char *longs; /* options of words that have code, behind '=' or as the next word */
	const char *others; /* options of words that say where other code is */
	int flags;
};

static const struct phx_code_language languages[] = {
	{"a shell", "sh bash rbash dash ash ksh mksh zsh csh tcsh", "c", "oO", "", "", "", "",
	 SHELL},
	{"fish", "fish", "cC", "dDoPf", "", "", "command init-command", "", 0},
	{"perl", "perl", "eEMm", "I", "FixCDV", "", "", "", 0},
	{"python", "python pypy ipython micropython", "c", "mWXQ", "", "cm", "", "", 0},
	{"ruby", "ruby jruby", "e", "CEIr", "FKTWix", "", "", "", 0},
	{"node", "node nodejs bun", "ep", "rC", "", "", "eval print", "", SPLIT},
	{"php", "php", "rBRE", "cdfFStz", "", "", "run process-begin process-code process-end", "",
	 0},
	{"lua", "lua luajit texlua", "e", "l", "jO", "", "", "", 0},
	{"R", "R", "e", "fgd", "", "", "", "", PERMUTES},
	{"R", "Rscript", "e", "", "", "", "", "", 0},
	{"julia", "julia", "eE", "LptJCH", "Og", "", "eval print", "", 0},
	{"awk", "awk gawk mawk nawk", "e", "FfvilW", "", "", "source", "file", FIRST},
	{"sed", "sed gsed ssed", "e", "fl", "i", "", "expression", "file", FIRST | PERMUTES},
	{"env", "env", "S", "uC", "", "", "split-string", "", RUNS},
	{"a shell", "su runuser script flock", "c", "", "", "", "command session-command", "",
	 PERMUTES | RUNS},
	{"", /* whose -c is something else */
	 "gzip gunzip zcat pigz bzip bunzip bzcat xz unxz xzcat zstd unzstd zstdcat lz lzop "
	 "compress "
	 "uncompress wc head tail cut sort uniq grep egrep fgrep cat tar touch stat du cmp cksum "
	 "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum",
	 "", "", "", "", "", "", PLAIN},
};

/* A program that is not in the table: many have a shell run what stands behind -c. */
static const struct phx_code_language unknown = {"a shell", "",        "c", "",      "",
						 "",        "command", "",  PERMUTES};

enum place { OPTIONS, OPERANDS /* behind "--" */, ARGUMENTS };

/* ---- the interpreter ---- */

/* The name of a program without its folder and its version: "python" of /usr/bin/python3.11. */
static void name_of(const char *word, char *ret, size_t size)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	size_t n = strlen(name) < size ? strlen(name) : 0;
	memcpy(ret, name, n);
	ret[n] = '\0';
}

static const struct phx_code_language *find(const char *word, bool plain)
{
	char name[32];
	name_of(word, name, sizeof(name));
	for (int whole = 1; whole >= 0; whole--) {
		for (size_t i = 0; name[0] && i < PHX_ARRAY_SIZE(languages); i++)
			if ((plain || !(languages[i].flags & PLAIN)) &&
			    phx_words_have(languages[i].names, name))
				return &languages[i];
		for (size_t n = strlen(name); n && strchr("0123456789.-", name[n - 1]);)
			name[--n] = '\0';
	}
	return NULL;
}

static bool begin(struct phx_code_look *l, const char *word, bool named)
{
	const struct phx_code_language *in = find(word, !l->in);
	if (in)
		*l = (struct phx_code_look){.in = in, .only_named = named};
	return in != NULL;
}

/* ---- options ---- */

static enum phx_code_word long_option(struct phx_code_look *l, const struct phx_code_language *in,
				      const char *word)
{
	char name[32] = "";
	size_t n = strcspn(word, "=");
	bool attached = word[n] == '=';
	if (n < sizeof(name))
		memcpy(name, word, n);
	bool code = phx_words_have(in->longs, name), other = phx_words_have(in->others, name);
	l->has_code = l->has_code || code || other;
	l->is_next = code && !attached;
	l->other_next = other && !attached;
	l->unsure = !code && !other && !attached && l->in;
	return code && attached ? PHX_CODE_IS : PHX_CODE_NONE;
}

/* What the letter at `at` makes of the word and the next one. False: the letters go on. */
static bool letter(struct phx_code_look *l, const struct phx_code_language *in, const char *at,
		   enum phx_code_word *ret)
{
	bool split = in->flags & (SHELL | SPLIT), attached = at[1] && !split;
	bool code = strchr(in->code, *at) != NULL, takes = strchr(in->takes, *at) != NULL;
	if (strchr(in->ends, *at))
		l->place = ARGUMENTS;
	l->has_code = l->has_code || code || ((in->flags & FIRST) && *at == 'f');
	l->shell_code = l->shell_code || (code && (in->flags & SHELL));
	l->is_next = l->is_next || (code && !attached && !(in->flags & SHELL));
	l->other_next = l->other_next || (takes && !attached);
	if (code && attached)
		*ret = PHX_CODE_IS;
	return !split && (code || takes || strchr(in->rest, *at));
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static enum phx_code_word option(struct phx_code_look *l, const struct phx_code_language *in,
				 const char *word)
{
	enum phx_code_word is = PHX_CODE_NONE;
	if (word[0] == '-' && word[1] == '-')
		return long_option(l, in, word + 2);
	if (in == &unknown) { /* of which only that one is known */
		l->is_next = !strcmp(word, "-c");
		return is;
	}
	for (const char *at = word + 1; *at; at++)
		if (!is_letter(*at)) /* what is put in there may be any letters */
			is = *in->code ? PHX_CODE_IS : is;
		else if (letter(l, in, at, &is))
			break;
	return is;
}

/* ---- operands ---- */

/* Is the first operand code, and still to come? */
static bool awaits_code(const struct phx_code_look *l)
{
	return l->shell_code || ((l->in->flags & FIRST) && !l->has_code);
}

/* Is the next operand a text or a script for the interpreter, and so nothing that it runs? */
static bool is_read(const struct phx_code_look *l)
{
	return awaits_code(l) ||
		!(l->unsure || l->has_code || l->only_named || (l->in->flags & RUNS));
}

static enum phx_code_word operand(struct phx_code_look *l)
{
	bool may_be_option = l->place == OPTIONS && !l->only_named, code = awaits_code(l);
	if (l->unsure) {
		l->unsure = false; /* and what comes next is looked at as if this had not been */
		return code ? PHX_CODE_IS : PHX_CODE_OPTION;
	}
	l->behind_shell = l->shell_code;
	l->has_code = l->has_code || code;
	if (!(l->in->flags & PERMUTES))
		l->place = ARGUMENTS;
	l->shell_code = false;
	return code ? PHX_CODE_IS : may_be_option ? PHX_CODE_OPTION : PHX_CODE_NONE;
}

static bool ends_options(const struct phx_code_language *in, const char *word)
{
	return in != &unknown &&
		(!strcmp(word, "--") || (!strcmp(word, "-") && (in->flags & SHELL)));
}

static bool is_option(const struct phx_code_language *in, const char *word)
{
	return word[1] && (word[0] == '-' || (word[0] == '+' && (in->flags & SHELL)));
}

static enum phx_code_word look_at(struct phx_code_look *l, const char *word)
{
	const struct phx_code_language *in = l->in ? l->in : &unknown;
	bool is_code = l->is_next, other = l->other_next, named = l->behind_shell;
	l->is_next = l->other_next = l->behind_shell = false;
	if (is_code || other)
		return is_code ? PHX_CODE_IS : PHX_CODE_NONE;
	if (l->place == OPTIONS && ends_options(in, word)) {
		l->place = OPERANDS;
		return PHX_CODE_NONE;
	}
	if (l->place == OPTIONS && is_option(in, word))
		return option(l, in, word);
	bool awaits = l->in && l->place != ARGUMENTS && *in->code;
	if (!(awaits && is_read(l)) && begin(l, word, named))
		return PHX_CODE_NONE;
	return awaits ? operand(l) : PHX_CODE_NONE;
}

enum phx_code_word phx_code_next(struct phx_code_look *look, const char *word,
				 const char **ret_what)
{
	const char *what = look->in ? look->in->what : unknown.what;
	enum phx_code_word is = look_at(look, word);
	if (ret_what && is != PHX_CODE_NONE)
		*ret_what = what;
	return is;
}
