/* What conserver is told. Called by the process that has consoles. Every name in it is one that
 * phx_name_valid(), so no text of a node becomes a word of the file. */
#include <errno.h>
#include <stdio.h>
#include <sys/un.h>

#include "console/console.h"

int phx_console_socket(const char *dir, const char *node, char *ret, size_t size)
{
	const size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
	int n = snprintf(ret, size, "%s/%s", dir, node);
	return n < 0 || (size_t)n >= size || (size_t)n >= room ? -ENAMETOOLONG : 0;
}

/* No log of its own: ours has bounds (log.c). What a console says while nobody is attached is read
 * by us in any case. A console whose line is cut is opened again by itself (reinitoncc). */
void phx_console_conf_put(const struct phx_console_conf *c, struct phx_buf *b)
{
	phx_buf_addf(b,
		     "# made by phxd: changes are lost\n"
		     "config * {\n"
		     "\tprimaryport %u;\n"
		     "\tsecondaryport 0;\n"
		     "\tsslrequired no;\n"
		     "\tdefaultaccess rejected;\n"
		     "\tpasswdfile %s;\n"
		     "\tlogfile /dev/null;\n"
		     "\tunifiedlog /dev/null;\n"
		     "}\n"
		     "access * {\n"
		     "\tallowed 127.0.0.1;\n"
		     "}\n"
		     "default * {\n"
		     "\tmaster localhost;\n"
		     "\ttype uds;\n"
		     "\tuds %s/&;\n"
		     "\tudssubst &=cs;\n"
		     "\tlogfile \"\";\n"
		     "\toptions reinitoncc;\n"
		     "\trw %s;\n"
		     "\tro %s;\n"
		     "}\n",
		     c->port, c->passwd, c->dir, c->user, c->user);
	for (size_t i = 0; i < c->n_nodes; i++)
		phx_buf_addf(b, "console %s { }\n", c->nodes[i]);
}
