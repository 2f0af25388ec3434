# SPDX-License-Identifier: Apache-2.0
# Everything of `make setup`, ready to run; COMMIT is for `--version` and results, for .git stays outside:
#   docker build --build-arg COMMIT="$(git describe --always --dirty --exclude='*')" --tag online-sysid .
#   docker run --rm --network host --volume "$PWD/demo_output:/out" online-sysid demo kinova --out /out/demo
FROM python:3.11-bookworm

RUN apt-get update && apt-get install --yes --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
COPY . /opt/online_sysid
ARG COMMIT=""
LABEL org.opencontainers.image.revision=$COMMIT
RUN make -C /opt/online_sysid setup PIP_NO_CACHE_DIR=1 SYSID_COMMIT="$COMMIT"

ENV PATH=/opt/online_sysid/.venv/bin:$PATH AMENT_PREFIX_PATH=/opt/online_sysid/.venv
WORKDIR /work
ENTRYPOINT ["sysid"]
CMD ["--help"]
