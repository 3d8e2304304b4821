/* SPDX-License-Identifier: Apache-2.0 */
/* embed OUT.c FILE.cl... - writes C that holds the files, as source.h declares them. Arrays of
 * numbers, since a string literal may be too long for a compiler. */
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void write_text(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, "%d,", *text);
}

/* The array of one file; a line directive first, for the messages of compilers. */
static int write_array(FILE *out, const char *path, int i)
{
    int c, column = 0;
    FILE *in = fopen(path, "r");
    if (!in) {
        perror(path);
        return 1;
    }
    fprintf(out, "static const char text_%d[] = {", i);
    write_text(out, "#line 1 \"");
    write_text(out, base_name(path));
    write_text(out, "\"\n");
    while ((c = getc(in)) != EOF)
        fprintf(out, "%s%d,", column++ % 20 ? "" : "\n    ", c);
    fprintf(out, "0 };\n");
    const int failed = ferror(in);
    fclose(in);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "usage: embed OUT.c FILE.cl...\n");
        return 1;
    }
    fprintf(out, "#include \"source.h\"\n");
    for (int i = 2; i < argc; i++)
        failed |= write_array(out, argv[i], i);
    fprintf(out, "const struct ocl_source ocl_sources[] = {\n");
    for (int i = 2; i < argc; i++) {
        const char *name = base_name(argv[i]);
        fprintf(out, "    { \"%.*s\", text_%d },\n", (int)strcspn(name, "."), name, i);
    }
    fprintf(out, "    { 0, 0 },\n};\n");
    failed |= ferror(out);
    return fclose(out) || failed;
}
