/* languages.c - see languages_private.h. Source of names: ISO 639, CLDR for regions and scripts. */
#include "serve/languages_private.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const char *const names[][2] = {
    {"af", "Afrikaans"}, {"am", "Amharic"}, {"ar", "Arabic"}, {"as", "Assamese"},
    {"az", "Azerbaijani"}, {"be", "Belarusian"}, {"bg", "Bulgarian"}, {"bn", "Bengali"},
    {"br", "Breton"}, {"bs", "Bosnian"}, {"ca", "Catalan"}, {"cs", "Czech"}, {"cy", "Welsh"},
    {"da", "Danish"}, {"de", "German"}, {"el", "Greek"}, {"en", "English"}, {"eo", "Esperanto"},
    {"es", "Spanish"}, {"et", "Estonian"}, {"eu", "Basque"}, {"fa", "Persian"}, {"fi", "Finnish"},
    {"fr", "French"}, {"ga", "Irish"}, {"gd", "Scottish Gaelic"}, {"gl", "Galician"},
    {"gu", "Gujarati"}, {"ha", "Hausa"}, {"he", "Hebrew"}, {"hi", "Hindi"}, {"hr", "Croatian"},
    {"ht", "Haitian Creole"}, {"hu", "Hungarian"}, {"hy", "Armenian"}, {"id", "Indonesian"},
    {"ig", "Igbo"}, {"is", "Icelandic"}, {"it", "Italian"}, {"ja", "Japanese"}, {"jv", "Javanese"},
    {"ka", "Georgian"}, {"kab", "Kabyle"}, {"kk", "Kazakh"}, {"km", "Khmer"}, {"kn", "Kannada"},
    {"ko", "Korean"}, {"ku", "Kurdish"}, {"ky", "Kyrgyz"}, {"la", "Latin"}, {"lb", "Luxembourgish"},
    {"lo", "Lao"}, {"lt", "Lithuanian"}, {"lv", "Latvian"}, {"mg", "Malagasy"}, {"mi", "Maori"},
    {"mk", "Macedonian"}, {"ml", "Malayalam"}, {"mn", "Mongolian"}, {"mr", "Marathi"},
    {"ms", "Malay"}, {"mt", "Maltese"}, {"my", "Burmese"}, {"nb", "Norwegian Bokmål"},
    {"ne", "Nepali"}, {"nl", "Dutch"}, {"nn", "Norwegian Nynorsk"}, {"no", "Norwegian"},
    {"oc", "Occitan"}, {"or", "Odia"}, {"pa", "Punjabi"}, {"pl", "Polish"}, {"ps", "Pashto"},
    {"pt", "Portuguese"}, {"pt-BR", "Portuguese (Brazil)"}, {"pt-PT", "Portuguese (Portugal)"},
    {"ro", "Romanian"}, {"ru", "Russian"}, {"sd", "Sindhi"}, {"si", "Sinhala"}, {"sk", "Slovak"},
    {"sl", "Slovenian"}, {"so", "Somali"}, {"sq", "Albanian"}, {"sr", "Serbian"}, {"sv", "Swedish"},
    {"sw", "Swahili"}, {"ta", "Tamil"}, {"te", "Telugu"}, {"th", "Thai"}, {"tl", "Filipino"},
    {"tr", "Turkish"}, {"tt", "Tatar"}, {"uk", "Ukrainian"}, {"ur", "Urdu"}, {"uz", "Uzbek"},
    {"vi", "Vietnamese"}, {"xh", "Xhosa"}, {"yi", "Yiddish"}, {"yo", "Yoruba"}, {"zh", "Chinese"},
    {"zh-Hans", "Chinese (Simplified)"}, {"zh-Hant", "Chinese (Traditional)"}, {"zu", "Zulu"},
};
/* clang-format on */

const char *tf_language_name(const char *code)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(code, names[i][0]) == 0)
            return names[i][1];
    return code;
}
