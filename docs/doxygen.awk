# SPDX-License-Identifier: BSD-3-Clause
#
# doxygen.awk HEADER: the header with its comments as doxygen wants them, line by line. Comments
# before and behind what they explain become documentation of it, the one at the top that of the
# file. Declarations that explain themselves are left out: copies, moves and ends, and what only
# the library itself can call, with its own types (be::adapter).

NR == 1 { print /^\/\*/ ? "/** @file */" : "/// @file"; next }

/ = delete;$/ || /std::shared_ptr<adapter::.*;$/ || is_special($0) { print ""; next }

# a comment of its own
/^ *\/\/( |$)/ { sub(/\/\//, "///"); print; next }
/^ *\/\*( |$)/ { sub(/\/\*/, started ? "/**" : "/** @file"); print; next }

# one behind code; of a namespace or a condition it says nothing new
{
    started = started || /^#/
    if (!/^[#}]/) {
        sub(/ \/\/<? /, " ///< ")
        sub(/ \/\* /, " /**< ")
    }
    print
}

# X(X &&) noexcept; and the like, ~X(); and operator=
function is_special(line,    word) {
    if (line !~ /;$/) return 0
    if (line ~ /operator=\(|^ *~/) return 1
    gsub(/const |&|noexcept|= default|[();]|other/, " ", line)
    return (split(line, word, " ") == 2) && (word[1] == word[2])
}
