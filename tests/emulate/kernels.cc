/* kernels.cc - kernels by name: nvcc's PTX of each, where it was translated and linked, and which
 * of them were launched. */
#include "emulate_private.h"

#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <set>

namespace {

std::map<std::string, emulate::ptx_kernel *> &translated()
{
    static std::map<std::string, emulate::ptx_kernel *> by_name; /* filled before main() */
    return by_name;
}

const char *const record = getenv("TF_EMULATE_KERNELS");
std::set<std::string> launched[2]; /* as the host's compiler made them; as nvcc did */

void write_record()
{
    FILE *f = fopen(record, "a");
    if (f == nullptr)
        return;
    for (auto &k : translated())
        fprintf(f, "known %s\n", k.first.c_str());
    for (int ptx = 0; ptx < 2; ptx++)
        for (auto &name : launched[ptx])
            fprintf(f, "%s %s\n", ptx ? "ptx" : "host", name.c_str());
    fclose(f);
}

/* The names of this library's functions by their place in it. Kernels are not exported: only the
 * file has their symbols. */
std::map<uintptr_t, std::string> read_symbols(const char *path)
{
    std::map<uintptr_t, std::string> names;
    std::string bytes;
    char part[1 << 16];
    FILE *f = fopen(path, "rb");
    for (size_t n; f != nullptr && (n = fread(part, 1, sizeof part, f)) > 0;)
        bytes.append(part, n);
    if (f != nullptr)
        fclose(f);
    if (bytes.size() < sizeof(Elf64_Ehdr))
        emulate::stop(path, "can't read its symbols");
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)bytes.data();
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes.data() + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *s = (const Elf64_Sym *)(bytes.data() + sections[i].sh_offset);
        const char *text = bytes.data() + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *s; k++)
            if (ELF64_ST_TYPE(s[k].st_info) == STT_FUNC && s[k].st_value != 0)
                names[s[k].st_value] = text + s[k].st_name;
    }
    return names;
}

/* As nvcc mangles it, which writes no L for static functions. */
std::string name_of(const void *kernel)
{
    static std::map<uintptr_t, std::string> names;
    Dl_info here;
    if (dladdr((void *)&read_symbols, &here) == 0)
        return "";
    if (names.empty())
        names = read_symbols(here.dli_fname);
    auto s = names.find((uintptr_t)kernel - (uintptr_t)here.dli_fbase);
    if (s == names.end())
        emulate::stop("launch", "a kernel without a symbol");
    return s->second.compare(0, 3, "_ZL") == 0 ? "_Z" + s->second.substr(3) : s->second;
}

} // namespace

namespace emulate {

ptx_kernels::ptx_kernels(std::initializer_list<std::pair<const char *, ptx_kernel *>> list)
{
    for (auto &k : list)
        if (!translated().insert({k.first, k.second}).second)
            stop(k.first, "two kernels of this name");
}

ptx_kernel *ptx_of(const void *kernel)
{
    static const bool recording = record != nullptr && atexit(write_record) == 0;
    if (translated().empty() && !recording)
        return nullptr;
    guard alone;
    const std::string name = name_of(kernel);
    auto k = translated().find(name);
    const bool ptx = k != translated().end();
    if (recording)
        launched[ptx].insert(name);
    return ptx ? k->second : nullptr;
}

} // namespace emulate
