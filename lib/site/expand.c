/* Variables in the texts of files: see internal.h. Nothing but names and their values: no code.
 * Called by check.c and render.c. Pure. */
#include "site/internal.h"

#include <errno.h>
#include <string.h>

static const char *const own[] = {"NODE", "ADDRESS", "ROLE", "POOL", "DOMAIN"};
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
enum { NAME_MAX_ = sizeof(((struct phx_site_value *)0)->name) };

bool phx_site_variable_is_own(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(own); i++)
		if (!strcmp(own[i], name))
			return true;
	return false;
}

bool phx_site_variable_is_name(const char *name)
{
	return *name && !name[strspn(name, LETTERS)];
}

const char *phx_site_variable_of(void *arg, const char *name)
{
	const struct phx_site_values_of *v = arg;
	const char *const values[] = {v->n->name, v->n->address, v->n->role, v->n->pool,
				      v->s->domain};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(own); i++)
		if (!strcmp(own[i], name))
			return values[i];
	return phx_site_value_of(v->e, PHX_SITE_VALUE_variables, name);
}

/* The length of @NAME@ at `at`, which is an @; 0: it is none. */
static size_t variable_length(const char *at)
{
	size_t n = 1 + strspn(at + 1, LETTERS);
	return n > 1 && at[n] == '@' ? n + 1 : 0;
}

static const char *value_at(const char *at, size_t n, phx_site_variable_fn value, void *arg)
{
	char name[NAME_MAX_];
	if (n - 2 >= sizeof(name))
		return NULL;
	memcpy(name, at + 1, n - 2);
	name[n - 2] = '\0';
	return value(arg, name);
}

static int unknown(const char *at, size_t n, struct phx_err *err)
{
	return phx_err_set(err, -EINVAL,
			   "%.*s is no variable: there are @NODE@, @ADDRESS@, @ROLE@, @POOL@, "
			   "@DOMAIN@ and `variables` of profiles and nodes; for the text itself "
			   "write @@ for each @",
			   n > 60 ? 60 : (int)n, at);
}

int phx_site_expand(const char *text, phx_site_variable_fn value, void *arg, char **ret,
		    unsigned *ret_line, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	unsigned line = 1;
	for (const char *at = text; *at;) {
		size_t n = *at == '@' ? variable_length(at) : 0;
		const char *put = n ? value_at(at, n, value, arg) : NULL;
		if (n && !put) {
			*ret_line = line;
			return unknown(at, n, err);
		}
		if (put)
			phx_buf_add(&b, put, strlen(put));
		line += *at == '\n';
		if (!n) {
			phx_buf_add(&b, at, 1);
			n = at[0] == '@' && at[1] == '@' ? 2 : 1;
		}
		at += n;
	}
	if (!ret)
		return b.failed ? -ENOMEM : 0;
	phx_buf_add(&b, "", 0);
	char *made = b.data ? phx_buf_take(&b) : strdup("");
	if (!made)
		return -ENOMEM;
	*ret = made;
	return 0;
}
