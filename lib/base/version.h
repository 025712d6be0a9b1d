/* The order of versions, of packages and of images. Pure. */
#ifndef PHX_BASE_VERSION_H
#define PHX_BASE_VERSION_H

/** Compare as Debian does: negative, 0, positive. Runs of digits compare as numbers. */
int phx_version_compare(const char *a, const char *b);

#endif
