/* The parts of a machine that a check loads: see check.h. Pure. */
#include "types/check.h"

#include <errno.h>
#include <string.h>

static const char *const parts[] = {
#define PART(name) #name,
	PHX_CHECK_PARTS(PART)
#undef PART
};
const struct phx_enum phx_check_part_names = {"part", parts, PHX_ARRAY_SIZE(parts)};

PHX_RECORD_TABLE(phx_check, PHX_CHECK_FIELDS);

static int find(const char *word, size_t n)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parts); i++)
		if (strlen(parts[i]) == n && !strncmp(parts[i], word, n))
			return (int)i;
	return -1;
}

int phx_check_parts_parse(const char *text, uint32_t *ret, struct phx_err *err)
{
	uint32_t set = text[0] ? 0 : (1u << PHX_CHECK_PARTS_N) - 1;
	for (const char *word = text; *word;) {
		size_t n = strcspn(word, ",");
		int part = find(word, n);
		if (part < 0 || (word[n] && !word[n + 1]))
			return phx_err_set(
				err, -EINVAL,
				"with: '%.40s' is no list of parts of a machine, such as "
				"\"cpu,memory,disk\"",
				text);
		set |= phx_check_bit((enum phx_check_part)part);
		word += n + (word[n] == ',');
	}
	*ret = set;
	return 0;
}
