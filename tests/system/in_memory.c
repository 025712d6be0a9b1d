/* Is a key in the memory of a process? in_memory PID HEX: how often those bytes are there, in
 * either order (numbers are kept with their last byte first). Run by root: the kernel lets others
 * look at nothing of a process that wants it so. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MAX = 256, CHUNK = 1 << 20 };

static uint8_t key[KEY_MAX], turned[KEY_MAX];
static size_t n_key;

static int read_key(const char *hex)
{
	for (; sscanf(hex, "%2hhx", &key[n_key]) == 1 && n_key < KEY_MAX - 1; hex += 2)
		n_key++;
	for (size_t i = 0; i < n_key; i++)
		turned[i] = key[n_key - 1 - i];
	return n_key >= 16 && !*hex ? 0 : -1;
}

static unsigned count(const uint8_t *data, size_t n)
{
	unsigned found = 0;
	for (size_t i = 0; i + n_key <= n; i++)
		found += !memcmp(data + i, key, n_key) || !memcmp(data + i, turned, n_key);
	return found;
}

/* Pieces overlap, so that none hides between two. */
static unsigned search(int mem, uint64_t from, uint64_t to)
{
	static uint8_t data[CHUNK + KEY_MAX];
	unsigned found = 0;
	for (uint64_t at = from; at < to; at += CHUNK) {
		size_t want = to - at < sizeof(data) ? (size_t)(to - at) : sizeof(data);
		ssize_t n = pread(mem, data, want, (off_t)at);
		found += n > 0 ? count(data, (size_t)n) : 0;
	}
	return found;
}

int main(int argc, char **argv)
{
	char path[64], line[512];
	unsigned found = 0, n_read = 0;
	if (argc != 3 || read_key(argv[2]) < 0)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	FILE *maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	int mem = open(path, O_RDONLY);
	if (!maps || mem < 0)
		return 2;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t from, to;
		char rights[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && rights[1] == 'w') {
			found += search(mem, from, to);
			n_read++;
		}
	}
	fclose(maps);
	close(mem);
	printf("%u\n", found);
	return n_read ? 0 : 2;
}
