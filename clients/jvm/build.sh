#!/bin/sh
# Builds noutput-client-jvm.jar, and the classes of its tests, with a JDK alone: build.sh [FOLDER]
set -eu
cd "$(dirname "$0")"
out=${1:-build}
version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' pom.xml)
rm -rf "$out"
mkdir -p "$out/main/META-INF" "$out/test"
cp LICENSE "$out/main/META-INF/LICENSE"
printf 'Automatic-Module-Name: noutput.client\nImplementation-Version: %s\n' "$version" >"$out/manifest"

# One compiler run starts a virtual machine; it lives too briefly for the optimizing compiler.
compile="javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 8 -encoding UTF-8 -Werror"
$compile -Xlint:all,-options,-strictfp -Xdoclint:all,-missing \
    -d "$out/main" src/main/java/noutput/client/*.java
$compile -Xlint:all,-options,-serial -cp "$out/main" -d "$out/test" src/test/java/noutput/client/*.java
# The same bytes from the same sources: no time of the build, files in the order of their names.
cd "$out/main"
find META-INF noutput -type f | LC_ALL=C sort >../files
jar --create --file ../noutput-client-jvm.jar --manifest ../manifest --date=1980-01-01T00:00:02Z @../files
