/* Completion for bash and zsh, made from the command table: one line a command with the types of
 * its arguments and its options, and a little shell that reads them. Names of nodes, roles,
 * images and packages are asked of phxd. Called by phx completion, and by the shells. Changes
 * nothing. */
#include <string.h>

#include "phx/cli.h"

/* How a shell completes a word of this type: "@nodes", "@files", or the words themselves. */
static void put_kind(const char *type)
{
	const struct cli_type *t = cli_type_find(type);
	const char *how = t ? t->complete : type;
	if (t && how[0] == '(') {
		/* words from a table have a blank behind the last, too */
		for (const char *p = how + 1; *p && *p != ')' && strcmp(p, " )"); p++)
			putchar(*p == ' ' ? '|' : *p);
	} else if (t) {
		printf("@%s", *how ? how : "none");
	} else {
		fputs(how, stdout);
	}
}

/* "--setup=noop|wipe --wait -n=@none": the options that `c` takes. */
static void put_options(const struct cli_command *c)
{
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		const struct cli_option *o = cli_option_info((enum cli_option_id)id);
		if (!cli_command_takes(c, (enum cli_option_id)id))
			continue;
		printf("--%s", o->name);
		if (o->arg) {
			putchar('=');
			put_kind(o->arg);
		}
		putchar(' ');
		if (o->letter && o->arg) {
			printf("-%c=", o->letter);
			put_kind(o->arg);
			putchar(' ');
		}
	}
}

/* "node assign;@nodes @roles;--setup=noop|wipe --wait ..." */
static void put_command(const struct cli_command *c)
{
	const char *at = c->grammar, *separator = "";
	printf("\t'%s;", c->path);
	for (struct cli_word w; cli_grammar_next(&at, &w);) {
		if (phx_str_eq(w.type, "--"))
			continue;
		fputs(separator, stdout);
		separator = " ";
		put_kind(w.type);
		fputs(w.repeated ? "+" : "", stdout);
	}
	putchar(';');
	put_options(c);
	puts("'");
}

static void put_table(void)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	puts("_phx_commands=(");
	for (size_t i = 0; i < n; i++)
		put_command(&all[i]);
	static const struct cli_command none = {.options = "version"};
	fputs(")\n_phx_options='", stdout);
	put_options(&none);
	puts("'\n");
}

/* Shared by both shells; fills _phx_reply with candidates for the last of its arguments. The words
 * before it choose the command; an option that wants a value takes the next word. */
static const char engine[] =
	"_phx_kind() {\n"
	"\tcase $1 in\n"
	"\t@nodes) _phx_reply=\"$(command phx node list -o name 2>/dev/null) @all @up @missing "
	"@role: @pool: @state:\" "
	";;\n"
	"\t@roles) _phx_reply=$(command phx role list -o name 2>/dev/null) ;;\n"
	"\t@res) _phx_reply=$(command phx re list -o name 2>/dev/null) ;;\n"
	"\t@images) _phx_reply=$(command phx image list -o name 2>/dev/null) ;;\n"
	"\t@packages) _phx_reply=$(command phx package list -o tsv --no-header 2>/dev/null | cut "
	"-f 1,2 | tr '\\t' -) ;;\n"
	"\t@triggers) _phx_reply=$(command phx trigger list -o name 2>/dev/null) ;;\n"
	"\t@jobs) _phx_reply=$(command phx job list -o name 2>/dev/null) ;;\n"
	"\t@labels) _phx_reply=$(command phx inventory --groups list label 2>/dev/null) ;;\n"
	"\t@files|@dirs) _phx_reply=$1 ;;\n"
	"\t@*) _phx_reply= ;;\n"
	"\t*) _phx_reply=$(printf '%s' \"$1\" | tr '|' ' ') ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# the words that may follow the words given, of commands not yet complete\n"
	"_phx_next() {\n"
	"\tlocal given=\"$*\" row name\n"
	"\tfor row in \"${_phx_commands[@]}\"; do\n"
	"\t\tname=${row%%;*}\n"
	"\t\tcase \"${given:+$name }\" in\n"
	"\t\t\"\") printf '%s\\n' \"${name%% *}\" ;;\n"
	"\t\t\"$given \"*) name=${name#\"$given\"}; name=${name# }; printf '%s\\n' \"${name%% *}\" "
	";;\n"
	"\t\tesac\n"
	"\tdone | sort -u\n"
	"}\n"
	"\n"
	"_phx_complete() {\n"
	"\tlocal cur=\"\" given=\"\" found=\"\" row o pending=\"\" n=0 w rest kinds=\"\" "
	"opts=$_phx_options\n"
	"\t_phx_reply=\n"
	"\twhile [ $# -gt 1 ]; do\n"
	"\t\tw=$1; shift\n"
	"\t\tif [ -n \"$pending\" ]; then pending=; continue; fi\n"
	"\t\tcase $w in\n"
	"\t\t-*)\n"
	"\t\t\tcase \" $opts \" in *\" $w=\"*) rest=${opts#*\"$w=\"}; pending=${rest%% *} ;; esac\n"
	"\t\t\tcontinue ;;\n"
	"\t\tesac\n"
	"\t\tif [ -n \"$found\" ]; then n=$((n + 1)); continue; fi\n"
	"\t\tgiven=\"${given:+$given }$w\"\n"
	"\t\tfor row in \"${_phx_commands[@]}\"; do\n"
	"\t\t\tif [ \"${row%%;*}\" = \"$given\" ]; then\n"
	"\t\t\t\tfound=$row; rest=${row#*;}; kinds=${rest%%;*}; opts=${rest#*;}\n"
	"\t\t\tfi\n"
	"\t\tdone\n"
	"\tdone\n"
	"\tcur=$1\n"
	"\tif [ -n \"$pending\" ]; then _phx_kind \"$pending\"; return; fi\n"
	"\tcase $cur in\n"
	"\t--*=*)\n"
	"\t\tw=${cur%%=*}\n"
	"\t\tcase \" $opts \" in *\" $w=\"*) rest=${opts#*\"$w=\"}; _phx_kind \"${rest%% *}\" ;; "
	"esac\n"
	"\t\treturn ;;\n"
	"\t-*)\n"
	"\t\t_phx_reply=$(for o in $(printf '%s' \"$opts\"); do printf '%s\\n' \"${o%%=*}\"; "
	"done)\n"
	"\t\treturn ;;\n"
	"\tesac\n"
	"\tif [ -z \"$found\" ]; then _phx_reply=$(_phx_next $given); return; fi\n"
	"\trest=$kinds\n"
	"\twhile [ $n -gt 0 ] && [ \"${rest%% *}\" != \"$rest\" ]; do rest=${rest#* }; n=$((n - "
	"1)); done\n"
	"\tw=${rest%% *}\n"
	"\tif [ $n -gt 0 ] && [ \"${w%+}\" = \"$w\" ]; then return; fi\n"
	"\t_phx_kind \"${w%+}\"\n"
	"}\n"
	"\n";

/* Readline cuts words at = : and @ (and would quote what looks like a file): the words are read
 * from the line itself, of a list with commas, and of --option=value, the last part is completed,
 * and what readline keeps is left out of the answer. A file's name is quoted, other words are not,
 * and no blank comes behind what goes on. */
static const char bash_tail[] =
	"_phx() {\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} cur before=\"\" kept=\"\" tail IFS=$' \\t\\n' w\n"
	"\tlocal -a words\n"
	"\tset -o noglob\n"
	"\twords=($line)\n"
	"\tset +o noglob\n"
	"\tcase $line in *[[:space:]]) words+=(\"\") ;; esac\n"
	"\tcur=${words[${#words[@]}-1]}\n"
	"\t_phx_complete \"${words[@]:1}\"\n"
	"\tCOMPREPLY=()\n"
	"\tcase $cur in --*=*) before=${cur%%=*}= ;; esac\n"
	"\tcase $_phx_reply in\n"
	"\t@files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "
	"\"${cur#\"$before\"}\")) ;;\n"
	"\t@dirs) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "
	"\"${cur#\"$before\"}\")) ;;\n"
	"\t*)\n"
	"\t\ttail=${cur#\"$before\"}\n"
	"\t\tcase $tail in *,*) before=$before${tail%,*}, ;; esac\n"
	"\t\tCOMPREPLY=($(compgen -P \"$before\" -W \"$_phx_reply\" -- \"${cur#\"$before\"}\")) "
	";;\n"
	"\tesac\n"
	"\tcase $_phx_reply in @files | @dirs) COMPREPLY=(\"${COMPREPLY[@]/#/$before}\") ;; esac\n"
	"\tcase $COMP_WORDBREAKS in *=*) case $cur in *=*) kept=${cur%\"${cur##*=}\"} ;; esac ;; "
	"esac\n"
	"\ttail=${cur#\"$kept\"}\n"
	"\tcase $COMP_WORDBREAKS in *:*) case $tail in *:*) kept=$kept${tail%\"${tail##*:}\"} ;; "
	"esac ;; esac\n"
	"\ttail=${cur#\"$kept\"}\n"
	"\tcase $COMP_WORDBREAKS in *@*) case $tail in *@*) kept=$kept${tail%@*} ;; esac ;; esac\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\")\n"
	"\tcase ${COMPREPLY[0]} in *: | *=) [ ${#COMPREPLY[@]} -gt 1 ] || compopt -o nospace "
	"2>/dev/null ;; esac\n"
	"}\n"
	"complete -F _phx phx\n";

static const char zsh_tail[] = "_phx() {\n"
			       "\temulate -L zsh\n"
			       "\tsetopt sh_word_split\n"
			       "\t_phx_complete \"${(@)words[2,CURRENT]}\"\n"
			       "\tcase $_phx_reply in\n"
			       "\t@files) _files ;;\n"
			       "\t@dirs) _files -/ ;;\n"
			       "\t*) compadd -- $_phx_reply ;;\n"
			       "\tesac\n"
			       "}\n"
			       "compdef _phx phx\n";

int cmd_completion(struct cli *cli)
{
	const char *what = cli_arg(cli, 0);
	if (phx_str_eq(what, "manual"))
		return phx_manual(cli_arg(cli, 1));
	bool zsh = phx_str_eq(what, "zsh");
	puts(zsh ? "#compdef phx\n# zsh completion, made by: phx completion zsh"
		 : "# bash completion, made by: phx completion bash");
	put_table();
	fputs(engine, stdout);
	fputs(zsh ? zsh_tail : bash_tail, stdout);
	return CLI_OK;
}
