/* A fake of the thread that keeps starts of nodes (cmd/phxd/starts.h): what is told it stays in
 * fake_starts, "KIND NODE: TEXT" a line. */
#ifndef PHX_FAKE_STARTS_H
#define PHX_FAKE_STARTS_H

#include <stdarg.h>
#include <stdio.h>

#include "phxd/starts.h"

static char fake_starts[4096];

__attribute__((unused)) static void fake_starts_add(const char *kind, const char *node,
						    const char *text)
{
	size_t n = strlen(fake_starts);
	snprintf(fake_starts + n, sizeof(fake_starts) - n, "%s %s: %s\n", kind, node, text);
}

void starts_tell(struct starts *s, const struct phx_start_row *row)
{
	(void)s;
	fake_starts_add(phx_enum_name(&phx_start_kind_names, row->kind), row->node, row->text);
}

void starts_tell_seldom(struct starts *s, const struct phx_start_row *row)
{
	starts_tell(s, row);
}

void starts_at(struct starts *s, const char *address, const char *mac)
{
	(void)s;
	fake_starts_add("at", address, mac);
}

void starts_say(struct starts *s, const char *node, enum phx_start_kind kind, const char *fmt, ...)
{
	struct phx_start_row row = {.kind = (int)kind};
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(row.text, sizeof(row.text), fmt, ap);
	va_end(ap);
	phx_str_copy(row.node, sizeof(row.node), node);
	starts_tell(s, &row);
}

void starts_script(struct daemon *d, const struct phx_http_request *q, const char *mac,
		   const char *what, const char *refused)
{
	(void)d, (void)q;
	fake_starts_add(refused ? "script_refused" : "script_answered", mac,
			refused ? refused : what);
}

void starts_no_file(struct daemon *d, const struct phx_http_request *q, const char *why)
{
	(void)d, (void)q;
	fake_starts_add("file_refused", "?", why);
}

void starts_no_cert(struct daemon *d, const struct phx_http_request *q, const char *why)
{
	(void)d;
	fake_starts_add("tls_refused", phx_http_peer(q)->cert.name, why);
}

void starts_step(struct daemon *d, const char *node, uint64_t step_id, int64_t result,
		 const char *text)
{
	(void)d, (void)step_id;
	fake_starts_add(result < 0 ? "step_failed" : "step_ended", node, text);
}

void starts_step_begins(struct daemon *d, const char *node)
{
	(void)d;
	fake_starts_add("step_began", node, "");
}

void starts_power_asked(struct daemon *d, const char *node, enum phx_power_op op)
{
	(void)d;
	fake_starts_add("power_asked", node, phx_enum_name(&phx_power_op_names, (int)op));
}

void starts_power(struct daemon *d, const char *node, enum phx_power_op op, int result,
		  const char *text)
{
	(void)d, (void)op;
	fake_starts_add(result < 0 ? "power_failed" : "power_done", node, text);
}

void starts_report(struct daemon *d, const char *node, bool healthy, const char *role,
		   const char *text)
{
	(void)d, (void)role;
	fake_starts_add(healthy ? "active" : "service_failed", node, text);
}

#endif
