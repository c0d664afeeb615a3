# Writes FILE from TEMPLATE with the commit of SOURCE, a + behind it where tracked files differ; nothing for a SOURCE that is no
# clone, or without git. The file is touched only when it says something else, so that nothing is built again for it.
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --exclude=* --abbrev=7 --dirty=+
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${TEMPLATE} ${FILE} @ONLY)
