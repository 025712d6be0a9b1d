/* What identifies machines: see known.h. One hash table holds all kinds of keys. For each node the
 * hashes under which it is stored are remembered, since its keys have changed when it is stored
 * again. Called by index.c. Pure. */
#include "state/known.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

struct phx_known {
	uint32_t cap;
	struct phx_hash table; /* of places */
	struct phx_list *of;   /* by place: uint32_t, the hashes of its keys */
};

/* ---- the keys of a node ---- */

/* The key number i of a node; NULL: it has no more. */
typedef const char *(*key_fn)(const struct phx_node *n, uint32_t i);

static const char *mac_of(const struct phx_node *n, uint32_t i)
{
	return i < n->macs.n ? PHX_LIST_AT(&n->macs, struct phx_mac, i)->mac : NULL;
}

static const char *serial_of(const struct phx_node *n, uint32_t i)
{
	return !i && !n->macs.n ? n->serial : NULL;
}

static const char *token_of(const struct phx_node *n, uint32_t i)
{
	return !i ? n->token_sha256 : NULL;
}

static const char *ip_of(const struct phx_node *n, uint32_t i)
{
	return !i ? n->ip : NULL;
}

static const char *uuid_of(const struct phx_node *n, uint32_t i)
{
	return !i ? n->facts.uuid : NULL;
}

static const char *proven_of(const struct phx_node *n, uint32_t i)
{
	return !i ? n->proven_uuid : NULL;
}

static const key_fn keys[PHX_KNOWN_KINDS] = {
	[PHX_KNOWN_MAC] = mac_of, [PHX_KNOWN_SERIAL] = serial_of, [PHX_KNOWN_TOKEN] = token_of,
	[PHX_KNOWN_IP] = ip_of,   [PHX_KNOWN_UUID] = uuid_of,     [PHX_KNOWN_PROVEN] = proven_of,
};

bool phx_known_is(const struct phx_node *n, enum phx_known_kind kind, const char *key)
{
	const char *its;
	for (uint32_t i = 0; key[0] && (its = keys[kind](n, i)); i++)
		if (!strcmp(its, key))
			return true;
	return false;
}

/* A word that is a key of two kinds has two hashes. */
static uint32_t hash_of(enum phx_known_kind kind, const char *key)
{
	return phx_hash_text(key) + kind * 0x9e3779b9u;
}

/* The next key of the node that is not empty, over all kinds; false: there are no more. */
static bool next_hash(const struct phx_node *n, enum phx_known_kind *kind, uint32_t *i,
		      uint32_t *ret_hash)
{
	for (; *kind < PHX_KNOWN_KINDS; ++*kind, *i = 0)
		for (const char *key; (key = keys[*kind](n, *i));) {
			++*i;
			if (!key[0])
				continue;
			*ret_hash = hash_of(*kind, key);
			return true;
		}
	return false;
}

/* ---- life ---- */

struct phx_known *phx_known_new(uint32_t cap)
{
	struct phx_known *k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->cap = cap;
	k->of = calloc(cap, sizeof(*k->of));
	if (k->of)
		return k;
	free(k);
	return NULL;
}

void phx_known_free(struct phx_known *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < k->cap; i++)
		phx_list_fini(&k->of[i]);
	free(k->of);
	phx_hash_fini(&k->table);
	free(k);
}

void phx_known_clear(struct phx_known *k)
{
	phx_hash_clear(&k->table);
	for (uint32_t i = 0; i < k->cap; i++)
		k->of[i].n = 0;
}

/* ---- places ---- */

bool phx_known_agree(const struct phx_known *k, uint32_t i, const struct phx_node *n)
{
	const struct phx_list *of = &k->of[i];
	enum phx_known_kind kind = 0;
	uint32_t at = 0, hash, n_same = 0;
	while (next_hash(n, &kind, &at, &hash)) {
		if (n_same >= of->n || *PHX_LIST_AT(of, uint32_t, n_same) != hash)
			return false;
		n_same++;
	}
	return n_same == of->n;
}

int phx_known_put(struct phx_known *k, uint32_t i, const struct phx_node *n)
{
	struct phx_list *of = &k->of[i];
	enum phx_known_kind kind = 0;
	uint32_t at = 0, hash;
	if (phx_known_agree(k, i, n))
		return 0;
	PHX_LIST_EACH(uint32_t, old, of)
		phx_hash_drop(&k->table, *old, i);
	of->n = 0;
	while (next_hash(n, &kind, &at, &hash)) {
		uint32_t *to = phx_list_push(of, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = hash;
		if (phx_hash_put(&k->table, hash, i) < 0) {
			of->n--;
			return -ENOMEM;
		}
	}
	return 0;
}

uint32_t phx_known_find(const struct phx_known *k, const struct phx_list *nodes,
			enum phx_known_kind kind, const char *key, uint32_t at, uint32_t end)
{
	uint32_t hash = hash_of(kind, key), first = end, i;
	for (uint32_t slot = hash; phx_hash_next(&k->table, hash, &slot, &i);)
		if (i >= at && i < first &&
		    phx_known_is(PHX_LIST_AT(nodes, struct phx_node, i), kind, key))
			first = i;
	return first;
}
