/* IP addresses: see address.h. Pure. */
#include "base/address.h"

#include <arpa/inet.h>

bool phx_address_valid(const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)];
	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}
